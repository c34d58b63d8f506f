//! How text from agents is shown.

use std::collections::BTreeMap;

use pilothouse_core::display::{Piece, Room, Trouble, json, line, pieces, show, show_within};
use proptest::prelude::*;
use serde::Deserialize;

const FIXTURE: &str = include_str!("../../../../fixtures/display.json");

#[derive(Deserialize)]
struct Fixture {
    kinds: BTreeMap<String, Vec<(String, String)>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    text: String,
    shown: String,
    found: BTreeMap<String, usize>,
}

fn fixture() -> Fixture {
    serde_json::from_str(FIXTURE).unwrap()
}

#[test]
fn text_is_shown_as_the_console_shows_it() {
    for Case { name, text, shown, found } in fixture().cases {
        let res = show(&text, Room::Lines);
        assert_eq!(res.text, shown, "{name}");
        let counted: BTreeMap<String, usize> =
            res.found.counts().map(|(it, n)| (it.as_str().to_owned(), n)).collect();
        assert_eq!(counted, found, "{name}");
        assert_eq!(res.found.is_empty(), found.is_empty());
        assert_eq!(res.n_cut, 0);
    }
}

#[test]
fn every_letter_is_of_the_kind_that_the_console_gives_it() {
    let hex = |it: &str| u32::from_str_radix(it, 16).unwrap();
    let kinds: Vec<(u32, u32, String)> = fixture()
        .kinds
        .iter()
        .flat_map(|(kind, ranges)| {
            ranges.iter().map(move |(from, to)| (hex(from), hex(to), kind.clone()))
        })
        .collect();
    for letter in '\0'..=char::MAX {
        let code = u32::from(letter);
        let kind = kinds.iter().find(|(from, to, _)| (*from..=*to).contains(&code));
        let expected = kind.map(|(_, _, kind)| kind.as_str());
        assert_eq!(Trouble::of(letter).map(Trouble::as_str), expected, "U+{code:04X}");
    }
}

#[test]
fn a_line_stays_one() {
    assert_eq!(line("a\n\tb\r\nc"), "a\\n\\tb\\r\\nc");
    // Line feeds are no trouble.
    assert!(show("a\n\tb", Room::Line).found.is_empty());
}

#[test]
fn padding_does_not_push_what_follows_out_of_sight() {
    for (text, shown, n_padding) in [
        ("ls ".to_owned() + &" ".repeat(3_999) + "; rm -rf /", "ls␠×4000; rm -rf /", 4_000),
        ("a".to_owned() + &"\n".repeat(500) + "b", "a␊×500\nb", 500),
        ("a".to_owned() + &"\t".repeat(90) + "b", "a␉×90b", 90),
        ("a\n\n\n\nb        c".to_owned(), "a\n\n\n\nb        c", 0),
        (" ".repeat(64) + "x", &(" ".repeat(64) + "x"), 0),
    ] {
        let res = show(&text, Room::Lines);
        assert_eq!(res.text, shown);
        let counted: usize = res.found.counts().map(|(_, n)| n).sum();
        assert_eq!(counted, n_padding, "{shown}");
    }
    let res = show(&("a".to_owned() + &"\u{a0}".repeat(4_000) + "b"), Room::Lines);
    assert_eq!(res.text, "a\\u{00A0}×4000b");
    assert_eq!(res.found.to_string(), "4000 × looks like a space");
    assert_eq!(show("\u{1b}\u{1b}", Room::Lines).text, "\\e\\e");
}

#[test]
fn what_was_found_is_said_in_words_the_worst_first() {
    let found = show("\u{a0}\u{202e}\u{1b}\u{1b}", Room::Line).found;
    let words = "2 × control character, 1 × changes text direction, 1 × looks like a space";
    assert_eq!(found.to_string(), words);
    let mut both = found.clone();
    both.add(&found);
    assert_eq!(both.counts().map(|(_, n)| n).sum::<usize>(), 8);
}

#[test]
fn a_cut_says_how_much_is_missing_and_what_is_in_it() {
    let text = "a".repeat(50) + "\u{202e}" + &"b".repeat(49);
    let res = show_within(&text, Room::Line, 30);
    assert_eq!(res.text, format!("{} … 70 more characters … {}", "a".repeat(20), "b".repeat(10)));
    assert_eq!((res.n_cut, res.found.to_string().as_str()), (70, "1 × changes text direction"));
    assert_eq!(show_within(&text, Room::Line, 100), show(&text, Room::Line));
}

#[test]
fn what_stands_for_something_can_be_told_from_the_same_words() {
    let escape = Piece::Instead { text: "\\e".into(), trouble: Trouble::Control, count: 1 };
    assert_eq!(pieces("\\e\u{1b}", Room::Line), [Piece::Plain("\\e"), escape]);
}

#[test]
fn json_means_the_same_and_is_harmless() {
    let text = "a\u{202e}\u{1b}\u{e0041}\u{9b}\n\"é";
    let safe = json(&serde_json::to_string(text).unwrap());
    assert!(safe.chars().all(|it| Trouble::of(it).is_none()), "{safe}");
    assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
}

proptest! {
    #[test]
    fn nothing_shown_is_trouble_and_nothing_else_is_lost(text in "([a-z ]|\\PC|\\pC|\u{202e}|\n){0,60}") {
        let lines = show(&text, Room::Lines);
        prop_assert!(lines.text.chars().all(|it| Trouble::of(it).is_none()));
        let one = line(&text);
        prop_assert!(!one.contains(['\n', '\t']));
        // What is shown is as good as the text: shown again it is the same.
        prop_assert_eq!(&show(&lines.text, Room::Lines).text, &lines.text);
        let plain: String = pieces(&text, Room::Lines).iter().filter_map(|it| match it {
            Piece::Plain(text) => Some(*text),
            Piece::Blank(_) | Piece::Instead { .. } | Piece::Cut { .. } => None,
        }).collect();
        let kept: String = text.chars().filter(|it| Trouble::of(*it).is_none()).collect();
        if lines.found.counts().all(|(it, _)| it != Trouble::Padding) {
            prop_assert_eq!(plain, kept);
        }
    }
}
