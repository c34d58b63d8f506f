//! What is said of command lines: tables of lines with their verdicts, and what holds of any line.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{fmt::Write as _, fs, path::Path};

use pilothouse::shell::{
    Class, MAX_LINE_BYTES, MAX_REASON_CHARS, MAX_SEGMENTS, Reading, Verdict, read, read_argv,
};
use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, proptest},
    sample::select,
};

#[test]
fn lines_that_were_used_against_agents() {
    check_table("commands.tsv", 71);
}

#[test]
fn lines_by_the_grammar_of_each_program() {
    check_table("commands-more.tsv", 900);
}

#[test]
fn what_a_command_does_is_named() {
    check_class("ls -la", Class::ReadsOnly);
    check_class("echo x > out", Class::Writes);
    check_class("rm x", Class::Writes);
    check_class("find . -delete", Class::Writes);
    check_class("sort -o out in", Class::Writes);
    check_class("git commit -m x", Class::Writes);
    check_class("find . -exec sh {} ;", Class::RunsProgram);
    check_class("rg --pre ./x foo", Class::RunsProgram);
    check_class("sudo ls", Class::RunsProgram);
    check_class("bash -c ls", Class::RunsProgram);
    check_class("LD_PRELOAD=./x.so ls", Class::RunsProgram);
    check_class("./ls", Class::RunsProgram);
    check_class("curl http://x.invalid", Class::Network);
    check_class("git push", Class::Network);
    check_class("echo x > /dev/tcp/x.invalid/80", Class::Network);
    check_class("frobnicate", Class::NotUnderstood);
    check_class("cat $x", Class::NotUnderstood);
    check_class("ls 'x", Class::NotUnderstood);
}

#[test]
fn each_command_of_a_line_is_a_segment() {
    check_argvs("ls -la | head -n 5", &[&["ls", "-la"], &["head", "-n", "5"]]);
    check_argvs("a 'b c' \"d\" e\\ f", &[&["a", "b c", "d", "e f"]]);
    check_argvs("echo \"$(date +%F)\"", &[&["echo", "\"$(date +%F)\""], &["date", "+%F"]]);
    check_argvs("! (ls; { pwd; }) &", &[&["ls"], &["pwd"]]);
    check_argvs(
        "if a; then b; elif c; then d; else e; fi",
        &[&["a"], &["b"], &["c"], &["d"], &["e"]],
    );
    check_argvs("ls > out x", &[&["ls", "x"]]);
    check_argvs("a && b > out", &[&["a"], &["b"]]);
    check_argvs("cat a <<'E' | wc\nrm x\nE", &[&["cat", "a"], &["wc"]]);
    check_argvs("x=$(a | b)", &[&[], &["a"], &["b"]]);
    check_argvs("diff <(a) <(b)", &[&["diff", "<(a)", "<(b)"], &["a"], &["b"]]);
    check_argvs("rm -rf 'unclosed", &[&[]]);
}

#[test]
fn the_segment_of_a_redirection_is_the_command_it_belongs_to() {
    let reading = read("cat a | sed s/a/b/ > out");
    assert_eq!(reading.segments[0].verdict, Verdict::Safe);
    assert_eq!(reading.segments[1].text, "sed s/a/b/ > out");
    assert_eq!(reading.segments[1].reason, "it writes to out");
}

#[test]
fn where_the_two_readings_differ_nothing_is_understood() {
    // The grammar loses the dash, and takes a blank behind a backslash for one between words.
    for line in ["cat - <<'E' | wc\na\nE", "ls \\ -la"] {
        assert!(read(line).segments[0].reason.ends_with("it can be read in two ways"), "{line}");
    }
}

#[test]
fn an_argv_is_not_read_as_a_line() {
    check_argv(&["echo", "a; rm x", "$(rm x)", "> out"], Verdict::Safe);
    check_argv(&["grep", "*", "x"], Verdict::Safe);
    check_argv(&["sort", "-o", "out"], Verdict::Ask);
    check_argv(&["bash", "-lc", "ls"], Verdict::Ask);
    check_argv(&["rm", "x"], Verdict::Ask);
    check_argv(&["ls", "\u{202e}"], Verdict::Ask);
    check_argv(&["/tmp/ls"], Verdict::Ask);
    check_argv(&[], Verdict::Ask);
}

#[test]
fn the_value_of_an_option_is_known_before_it_runs_or_asks() {
    for (program, options) in VALUED {
        for option in options.split(' ') {
            let check = |line: String| assert_eq!(read(&line).verdict, Verdict::Ask, "{line}");
            for value in ["$(x)", "`x`", "$v", "${v}", "*", "?", "[a]", "{a,b}", "$!", "$PWD"] {
                check(format!("{program} {option} {value} a"));
            }
            for value in ["$(true)", "$v", "\"$v\""] {
                check(format!("{program} {option}={value} a"));
            }
            check(format!("for f in 'a b'; do {program} {option} $f a; done"));
            check(format!("for f in *.a; do {program} {option} $f a; done"));
            check(format!("ls | xargs -I % {program} {option} % a"));
            check(format!("ls | xargs {program} {option}"));
            check(format!("find . -print0 | xargs -0 {program} {option}"));
        }
    }
}

/// Programs whose options can do harm, with those that have a value.
const VALUED: &[(&str, &str)] = &[
    ("sort", "-k -t -S --sort --key --field-separator --buffer-size --parallel"),
    ("uniq", "-f -s -w --skip-fields --skip-chars --check-chars"),
    ("shuf", "-i -n --input-range --head-count"),
    ("diff", "-U -C -W -x -X -I -F -S --width --exclude --label --unified"),
    ("date", "-d -r --date --reference --rfc-3339"),
    ("file", "-e -F --separator"),
    ("tree", "-L -P -I -H -T --filelimit --sort --charset"),
    ("base64", "-w --wrap"),
    ("xxd", "-l -c -s -g -o"),
    ("bat", "-r -l -H -m --line-range --language --highlight-line --style --color --theme"),
    ("man", "-s -S --sections"),
    ("yq", "-p -o --output-format --input-format"),
    ("jq", "--indent --arg --argjson --slurpfile --rawfile -L -f --from-file"),
    (
        "rg",
        "-A -B -C -E -e -f -g -j -M -m -r -T -t -d --glob --file --regexp --max-count --type-add",
    ),
    ("fd", "-d -t -e -E -S -c -j -o --max-depth --type --extension --exclude --base-directory"),
    ("grep", "-A -B -C -m -d -D --context --after-context --max-count --include --exclude --label"),
    ("find .", "-name -path -maxdepth -newer -printf -regex -size -type -user -D"),
    ("sed", "-e --expression"),
    ("awk", "-F -v"),
    ("git log", "-n -S -G -L --format --author --grep --since --max-count --src-prefix"),
    ("git diff", "-S -G --diff-filter --word-diff-regex --line-prefix"),
    ("git status", "--porcelain --untracked-files"),
    ("git branch", "--contains --sort --format --merged --points-at"),
    ("git tag", "--contains --sort --format"),
    ("git for-each-ref", "--sort --format --count"),
    ("git ls-files", "-x --exclude --format"),
    ("git blame", "-L -S --date --ignore-rev --ignore-revs-file --since"),
    ("git grep", "-e -f -A -B -C -m --max-depth --threads"),
    ("git describe", "--abbrev --match --exclude --candidates"),
    ("git rev-parse", "--git-path --default --since"),
    ("git config", "--type --default"),
    ("docker ps", "--filter --format --last"),
    ("npm ls", "--depth"),
    ("pip list", "--format"),
    ("env -i", "-u --unset"),
    ("nice", "-n --adjustment"),
    ("ionice", "-c -n"),
    ("stdbuf", "-i -o -e --input --output"),
    ("timeout", "-k -s --kill-after --signal"),
    ("xargs", "-n -L -P -d -E -s -I --max-args --delimiter"),
    ("read", "-d -n -N -t -p"),
    ("set", "-o"),
];

#[test]
fn what_is_too_much_to_read_asks() {
    let words = |n: usize| format!("echo{}", " a".repeat(n));
    assert_eq!(read(&words(1_000)).verdict, Verdict::Safe);
    assert_eq!(read(&words(MAX_LINE_BYTES)).verdict, Verdict::Ask);
    let commands = |n: usize| vec!["ls"; n].join("; ");
    assert_eq!(read(&commands(MAX_SEGMENTS)).verdict, Verdict::Safe);
    assert_eq!(read(&commands(MAX_SEGMENTS + 1)).verdict, Verdict::Ask);
    let nested = |n: usize| format!("{}ls{}", "echo $(".repeat(n), ")".repeat(n));
    assert_eq!(read(&nested(3)).verdict, Verdict::Safe);
    for n in [50, 500, 3_000] {
        assert_eq!(read(&nested(n)).verdict, Verdict::Ask);
        assert_eq!(read(&format!("{}ls{}", "(".repeat(n), ")".repeat(n))).verdict, Verdict::Ask);
        assert_eq!(read(&format!("{}ls", "{ ".repeat(n))).verdict, Verdict::Ask);
        assert_eq!(read(&"if ".repeat(n)).verdict, Verdict::Ask);
        assert_eq!(read(&"\"$(".repeat(n)).verdict, Verdict::Ask);
    }
    let reason = &read(&format!("cat {}", "$x".repeat(1_000))).segments[0].reason;
    assert!(reason.chars().count() <= MAX_REASON_CHARS + 1, "{reason}");
    let wrapped = |n: usize| format!("{}ls", "env ".repeat(n));
    assert_eq!(read(&wrapped(3)).verdict, Verdict::Safe);
    assert_eq!(read(&wrapped(100)).verdict, Verdict::Ask);
}

#[test]
fn a_line_without_a_command_asks() {
    for line in ["", " ", "\n\n", "# ls", "\\\n"] {
        let reading = read(line);
        assert_eq!(reading.verdict, Verdict::Ask, "{line:?}");
        assert_eq!(reading.segments[0].class, Class::NotUnderstood);
    }
}

proptest! {
    #[test]
    fn nothing_that_is_not_understood_is_safe(line in any_line()) {
        check_consistent(&line, &read(&line))?;
    }

    #[test]
    fn no_text_is_a_panic(bytes in vec(any::<u8>(), 0..200)) {
        let line = String::from_utf8_lossy(&bytes);
        check_consistent(&line, &read(&line))?;
    }

    #[test]
    fn a_dangerous_command_is_seen_wherever_it_stands(before in any_line(), after in any_line()) {
        for line in [
            format!("{before}; rm x"),
            format!("{before}\nrm x\n{after}"),
            format!("rm x; {after}"),
            format!("rm x && {after}"),
            format!("ls | rm x | {after}"),
            format!("echo $(rm x) {after}"),
        ] {
            // Unless quotes or a comment of the other part take it in, and then it is no command.
            if !before.contains(['\'', '"', '#', '\\', '<']) && !after.contains(['\'', '"']) {
                prop_assert_eq!(read(&line).verdict, Verdict::Ask, "{}", line);
            }
        }
    }

    #[test]
    fn what_follows_makes_no_line_safe(line in any_line(), after in any_line()) {
        let reading = read(&line);
        let is_whole = reading.segments.iter().all(|it| !it.argv.is_empty());
        if is_whole && reading.verdict == Verdict::Ask {
            prop_assert_eq!(read(&format!("{line}; {after}")).verdict, Verdict::Ask);
        }
    }

    #[test]
    fn a_list_is_as_strict_as_its_strictest_command(
        left in select(PIECES), right in select(PIECES), operator in select(OPERATORS)
    ) {
        let strictest = read(left).verdict.max(read(right).verdict);
        prop_assert_eq!(read(&format!("{left}{operator}{right}")).verdict, strictest);
    }

    #[test]
    fn quoted_words_are_read_as_the_words_they_are(
        name in select(&["ls", "cat", "sort", "rg", "find", "sed", "git", "env", "xargs", "rm"][..]),
        words in vec("[ -~]{0,8}", 0..4),
    ) {
        let quoted: Vec<String> =
            words.iter().map(|it| format!("'{}'", it.replace('\'', "'\\''"))).collect();
        let line = format!("{name} {}", quoted.join(" "));
        let mut argv = vec![name.to_owned()];
        argv.extend(words);
        let by_line = read(&line);
        prop_assert_eq!(&by_line.segments[0].argv, &argv, "{}", line);
        prop_assert_eq!(by_line.verdict, read_argv(&argv).verdict, "{}", line);
    }
}

const OPERATORS: &[&str] = &[" && ", " || ", "; ", "\n", " | ", " |& ", " & "];

const PIECES: &[&str] = &[
    "ls -la",
    "cat README.md",
    "rm x",
    "echo 'a; b'",
    "sort -o x y",
    "git status",
    "curl x",
    "(ls; pwd)",
    "echo \"$(date)\"",
    "frobnicate",
    "rg -n foo src",
    "find . -delete",
    "true",
    "wc -l < README.md",
    "echo hi > out",
    "env FOO=1 ls",
    "! grep -q x y",
    "[ -f x ]",
];

/// Pieces of shell, put together without sense.
fn any_line() -> impl Strategy<Value = String> {
    let pieces: Vec<&'static str> = "ls cat rm sort -o x echo $(date) $( ) ( { } ; & && | || |& > >> \
        < << <<< EOF 'a 'b' \" \"c\" ` \\ $x ${x} $'a' $((1)) # * ? [ ] [[ ]] ! if then else fi for f \
        in do done while case esac a=b PATH=x 2>&1 >/dev/null >&2 &> -- -exec find env xargs sudo \
        sed -n 1p w git status -c cd ~ .env {a,b} \u{3000} é"
        .split(' ')
        .chain([" ", "  ", "\n", "\t", "\\\n"])
        .collect();
    vec((select(pieces), Just(" ")), 0..12).prop_map(|pieces| {
        let mut line = String::new();
        for (at, (piece, blank)) in pieces.into_iter().enumerate() {
            line.push_str(piece);
            if at % 4 != 3 {
                line.push_str(blank);
            }
        }
        line
    })
}

fn check_consistent(
    line: &str,
    reading: &Reading,
) -> Result<(), proptest::test_runner::TestCaseError> {
    prop_assert!(!reading.segments.is_empty());
    let all_read = reading.segments.iter().all(|it| it.class == Class::ReadsOnly);
    prop_assert_eq!(reading.verdict == Verdict::Safe, all_read, "{}", line);
    for segment in &reading.segments {
        prop_assert_eq!(segment.verdict == Verdict::Safe, segment.class == Class::ReadsOnly);
        prop_assert!(!segment.reason.is_empty());
        prop_assert!(line.contains(&segment.text) || segment.text.starts_with("for "));
    }
    Ok(())
}

fn check_class(line: &str, class: Class) {
    let reading = read(line);
    assert_eq!(reading.segments.len(), 1, "{line}");
    assert_eq!(reading.segments[0].class, class, "{line}: {}", reading.segments[0].reason);
}

fn check_argvs(line: &str, expected: &[&[&str]]) {
    let argvs: Vec<Vec<String>> = read(line).segments.into_iter().map(|it| it.argv).collect();
    assert_eq!(argvs, expected, "{line}");
}

fn check_argv(argv: &[&str], verdict: Verdict) {
    let argv: Vec<String> = argv.iter().map(|it| (*it).to_owned()).collect();
    assert_eq!(read_argv(&argv).verdict, verdict, "{argv:?}");
}

/// Reads a table whose first columns are a verdict and a line, and reports all rows that differ.
fn check_table(name: &str, at_least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    let table = fs::read_to_string(path).unwrap();
    let mut differing = String::new();
    let mut n_rows = 0;
    for row in table.lines().skip(1) {
        let (verdict, rest) = row.split_once('\t').unwrap();
        let line = unescape(rest.split_once('\t').unwrap().0);
        let expected = match verdict {
            "safe" | "safe_read_only" => Verdict::Safe,
            "ask" | "needs_approval" => Verdict::Ask,
            other => panic!("{other} is no verdict"),
        };
        let reading = read(&line);
        if reading.verdict != expected {
            let reasons: Vec<&str> = reading.segments.iter().map(|it| it.reason.as_str()).collect();
            writeln!(differing, "{verdict}: {line}\n    {}", reasons.join("\n    ")).unwrap();
        }
        n_rows += 1;
    }
    assert!(differing.is_empty(), "{differing}");
    assert!(n_rows >= at_least, "{n_rows} rows");
}

/// `<LF>`, `<ESC>` and `<U+202E>` stand for what would not show in a table.
fn unescape(text: &str) -> String {
    let mut parts = text.replace("<LF>", "\n").replace("<ESC>", "\u{1b}");
    while let Some((before, rest)) = parts.split_once("<U+") {
        let (code, after) = rest.split_once('>').unwrap();
        let char = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
        parts = format!("{before}{char}{after}");
    }
    parts
}
