//! What holds of any rules and any line.

use pilothouse::{
    rules::Rules,
    shell::{Class, Verdict, read},
};
use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest},
    sample::select,
};

use crate::{change_ask, command, said, said_of};

proptest! {
    #[test]
    fn what_is_not_plain_is_never_allowed(line in line(), rules in written()) {
        let rules = Rules::parse(&rules).unwrap();
        if said(&rules, &line).starts_with("allowed") {
            for segment in read(&line).segments {
                prop_assert!(segment.is_plain || segment.verdict == Verdict::Safe, "{line}");
                // A line that could not be read is one segment without words.
                let is_opaque = segment.class == Class::NotUnderstood && segment.argv.is_empty();
                prop_assert!(!is_opaque, "{}", line);
            }
        }
    }

    #[test]
    fn another_strict_rule_never_allows_more(
        line in line(),
        rules in written(),
        pattern in pattern(),
        refuse in any::<bool>(),
        first in any::<bool>(),
    ) {
        let outcome = if refuse { "refuse" } else { "ask" };
        let strict = command("more", &pattern, outcome);
        let more = if first { format!("{strict}{rules}") } else { format!("{rules}{strict}") };
        let before = said(&Rules::parse(&rules).unwrap(), &line);
        let after = said(&Rules::parse(&more).unwrap(), &line);
        prop_assert!(!after.starts_with("allowed") || before.starts_with("allowed"), "{after}");
        prop_assert!(!before.starts_with("refused") || after.starts_with("refused"), "{after}");
    }

    #[test]
    fn without_allowing_nothing_is_allowed_and_all_refused_is(line in line(), rules in written()) {
        let rules = Rules::parse(&rules).unwrap();
        let (before, after) = (said(&rules, &line), said(&rules.without_allowing(), &line));
        prop_assert!(!after.starts_with("allowed"));
        prop_assert_eq!(before.starts_with("refused"), after.starts_with("refused"));
    }

    #[test]
    fn what_one_rule_does_not_allow_the_words_behind_it_do_not_either(
        words in vec("[ -~]{0,8}", 0..4)
    ) {
        let rules = Rules::parse(&command("m", r#""make""#, "allow")).unwrap();
        let quoted: Vec<String> =
            words.iter().map(|it| format!("'{}'", it.replace('\'', "'\\''"))).collect();
        let expected = read(&format!("make {}", quoted.join(" "))).segments[0].is_plain;
        let said = said(&rules, &format!("make {}", quoted.join(" ")));
        prop_assert_eq!(said == "allowed by m", expected);
    }

    #[test]
    fn a_path_is_refused_wherever_the_rule_may_mean(
        before in select(&["", "/", "/w/", "./", "/w/../w/", "a/../", "/elsewhere/a/"][..]),
        after in "[a-z]{1,3}(/[a-z]{1,3}){0,2}",
    ) {
        let text = "[[rules]]\nname = \"r\"\npaths = [\".github\"]\noutcome = \"refuse\"\n\
                    [[rules]]\nname = \"a\"\npaths = [\"**\", \"/**\"]\noutcome = \"allow\"\n";
        let path = format!("{before}.github/{after}");
        let said = said_of(&Rules::parse(text).unwrap(), &change_ask(&[&path]), Some("/w"));
        prop_assert_eq!(said, "refused by r", "{}", path);
    }

    #[test]
    fn no_text_makes_the_reader_of_rules_panic(text in "([ -~\n]|\\[\\[rules\\]\\]\n){0,80}") {
        drop(Rules::parse(&text));
    }
}

/// Rules about a few words, all of which allow some.
fn written() -> impl Strategy<Value = String> {
    let outcome = prop_oneof![6 => Just("allow"), 1 => Just("ask"), 1 => Just("refuse")];
    let rules = vec((pattern(), outcome), 0..6);
    (rules, any::<bool>()).prop_map(|(rules, reads)| {
        let mut text = String::new();
        for (nth, (pattern, outcome)) in rules.iter().enumerate() {
            text.push_str(&command(&nth.to_string(), pattern, outcome));
        }
        if reads {
            text.push_str("[[rules]]\nname = \"r\"\nreads_only = true\noutcome = \"allow\"\n");
        }
        text
    })
}

fn pattern() -> impl Strategy<Value = String> {
    let word = select(&["rm", "make", "git", "push", "ls", "x", "cd", "env", "echo"][..]);
    vec(vec(word, 1..3), 1..3).prop_map(|words| {
        let words: Vec<String> = words.iter().map(|it| format!("{it:?}")).collect();
        words.join(", ")
    })
}

/// Pieces of shell, most of them commands.
fn line() -> impl Strategy<Value = String> {
    let pieces: Vec<&'static str> =
        "make rm git push ls x -C a env cd echo $(make) $(rm `ls` ) ( { \
        } ; && || | & > >/dev/null 2>&1 < << 'a b' \" ' $x {a,b} * a=b for in do done sudo bash -c \
        'rm x' \u{202e} #"
            .split(' ')
            .chain([" ; ", " && ", " | ", "\n"])
            .collect();
    vec(select(pieces), 1..9).prop_map(|it| it.join(" "))
}
