//! What a rule matches, and what is wrong with one that is refused.

use pilothouse::{
    core::{Ask, OnExpiry, Subject},
    rules::{MAX_RULES, Rules, Scene, command_ask},
};

use crate::{change_ask, command, rules, said, said_of};

#[test]
fn a_line_is_allowed_if_each_command_is_allowed_or_only_reads() {
    let rules = rules(&format!(
        "{}{}",
        command("tests", r#""cargo", ["test", "nextest"]"#, "allow"),
        command("format", r#""cargo", "fmt""#, "allow"),
    ));
    for (line, expected) in [
        ("cargo test", "allowed by tests"),
        ("cargo nextest run -p x 'a b'", "allowed by tests"),
        ("cargo test src/*.rs", "allowed by tests"),
        ("cargo fmt && cargo test 2>&1 | tail -n 5", "allowed by format, tests"),
        ("cat README.md | head; cargo fmt > /dev/null", "allowed by format"),
        ("/bin/bash -lc 'cargo test'", "person"),
        // No rule is about it, and nothing is answered for reading alone.
        ("ls", "person"),
        ("cargo build", "person"),
        ("cargo", "person"),
        ("cargo test && rm x", "person"),
        ("cargo test; frobnicate", "person"),
        ("cargo test $(rm x)", "person"),
        ("cargo test $x", "person"),
        ("cargo test {a,b}", "person"),
        ("cargo test > out", "person"),
        ("cargo test >> ~/.bashrc", "person"),
        ("PATH=. cargo test", "person"),
        ("RUST_LOG=debug cargo test", "person"),
        ("cc=x; cargo test", "person"),
        ("read x < y; cargo test", "person"),
        ("for x in a b; do cargo test; done", "person"),
        ("c''argo test", "person"),
        ("./cargo test", "person"),
        ("/usr/bin/cargo test", "person"),
        ("sudo cargo test", "person"),
        ("env cargo test", "person"),
        ("bash -c 'cargo test'", "person"),
        ("alias cargo=rm; cargo test", "person"),
        ("cargo() { rm x; }; cargo test", "person"),
        ("cargo test 'x", "person"),
        ("cargo test \u{202e}", "person"),
        ("", "person"),
    ] {
        assert_eq!(said(&rules, line), expected, "{line}");
    }
}

#[test]
fn one_command_that_is_refused_refuses_the_line_however_it_is_wrapped() {
    let rules = rules(&format!(
        "{}{}{}",
        command("no push", r#""git", "push""#, "refuse"),
        command("rm", r#""rm""#, "ask"),
        command("all", r#"["git", "rm", "sudo", "make", "env", "timeout"]"#, "allow"),
    ));
    for (line, expected) in [
        ("git push", "refused by no push"),
        ("git push $x", "refused by no push"),
        ("git push > out", "refused by no push"),
        ("git -C dir -c a=b push --force", "refused by no push"),
        ("make && (git push; ls)", "refused by no push"),
        ("rm x; git push", "refused by no push"),
        ("echo $(git push)", "refused by no push"),
        ("sudo -u root /usr/bin/git push", "refused by no push"),
        ("timeout 5 env A=b git push", "refused by no push"),
        ("bash -c 'cd x && git push'", "refused by no push"),
        ("eval git push", "refused by no push"),
        ("find . -exec git push {} +", "refused by no push"),
        ("git pull", "allowed by all"),
        ("make push", "allowed by all"),
        ("git commit -m 'git push'", "allowed by all"),
        ("git rm x", "allowed by all"),
        ("rm x", "person"),
        ("sudo rm x", "person"),
        ("/bin/rm x", "person"),
    ] {
        assert_eq!(said(&rules, line), expected, "{line}");
    }
}

#[test]
fn reading_is_answered_only_where_a_rule_says_so() {
    let rules = rules(&format!(
        "[[rules]]\nname = \"reads\"\nreads_only = true\noutcome = \"allow\"\n\
         match = [\"ls -la | head\"]\nnot_match = [\"ls > out\", \"make\"]\n{}",
        command("env", r#""cat", ".env""#, "ask"),
    ));
    for (line, expected) in [
        ("ls -la | head -n 5", "allowed by reads"),
        ("git status", "allowed by reads"),
        ("cd x && git status", "person"),
        ("cat README.md > out", "person"),
        ("make", "person"),
        ("cat .env", "person"),
    ] {
        assert_eq!(said(&rules, line), expected, "{line}");
    }
}

#[test]
fn files_are_allowed_all_together_and_refused_for_one() {
    let rules = rules(
        "[[rules]]\nname = \"ci\"\npaths = [\".github/**\", \"/etc/\"]\noutcome = \"refuse\"\n\
         match = [\".github/workflows/ci.yml\", \"sub/.github/x\", \"/etc/passwd\"]\n\
         not_match = [\".githubx/a\", \"github/a\"]\n\
         [[rules]]\nname = \"docs\"\npaths = [\"docs/**\", \"*.md\", \"/tmp/out/*.txt\"]\n\
         outcome = \"allow\"\nmatch = [\"docs/a/b.md\", \"README.md\"]\n\
         not_match = [\"src/README.md\", \"docs\"]\n",
    );
    for (paths, expected) in [
        (&["docs/a.md"][..], "allowed by docs"),
        (&["/w/docs/a.md", "/w/README.md"], "allowed by docs"),
        (&["/w/./docs/../docs/a.md"], "allowed by docs"),
        (&["/tmp/out/a.txt"], "allowed by docs"),
        (&["/tmp/out/a/b.txt"], "person"),
        (&["docs/../src/a.rs"], "person"),
        (&["/x/docs/a.md"], "person"),
        (&["docs/a.md", "src/a.rs"], "person"),
        (&["docs/a.md", ".github/workflows/ci.yml"], "refused by ci"),
        (&["docs/../.github/x"], "refused by ci"),
        (&["/elsewhere/.github/x"], "refused by ci"),
        (&["/w/.GitHub/x"], "refused by ci"),
        (&["/etc/passwd"], "refused by ci"),
        (&["../../etc/passwd"], "refused by ci"),
        (&[], "person"),
    ] {
        assert_eq!(said_of(&rules, &change_ask(paths), Some("/w")), expected, "{paths:?}");
    }
    // Without a directory to be below, nothing is.
    assert_eq!(said_of(&rules, &change_ask(&["docs/a.md"]), None), "person");
    assert_eq!(said_of(&rules, &change_ask(&[".github/x"]), None), "refused by ci");
}

#[test]
fn what_is_more_than_it_shows_is_never_allowed() {
    let rules = rules(&format!(
        "{}[[rules]]\nname = \"files\"\npaths = [\"**\"]\noutcome = \"allow\"\n",
        command("curl", r#""curl""#, "allow"),
    ));
    let with = |change: &dyn Fn(&mut Subject)| {
        let mut ask = command_ask("curl x.invalid", "/w", jiff::Timestamp::UNIX_EPOCH);
        change(&mut ask.subject);
        said_of(&rules, &ask, Some("/w"))
    };
    assert_eq!(with(&|_| ()), "allowed by curl");
    let to_a_terminal = |it: &mut Subject| {
        if let Subject::Command { write_stdin, .. } = it {
            *write_stdin = true;
        }
    };
    assert_eq!(with(&to_a_terminal), "person");
    let to_a_host = |it: &mut Subject| {
        if let Subject::Command { host, .. } = it {
            *host = Some("x.invalid".to_owned());
        }
    };
    assert_eq!(with(&to_a_host), "person");
    let ask = change_ask(&["a"]);
    assert_eq!(said_of(&rules, &ask, Some("/w")), "allowed by files");
    let Subject::FileChange { changes, .. } = ask.subject.clone() else { panic!("{ask:?}") };
    let subject = Subject::FileChange { changes, grant_root: Some("/w".to_owned()) };
    assert_eq!(said_of(&rules, &Ask { subject, ..ask }, Some("/w")), "person");
}

#[test]
fn words_that_no_shell_sees_are_matched_as_they_are() {
    let rules = rules(&format!(
        "{}{}",
        command("make", r#""make""#, "allow"),
        command("no rm", r#""rm""#, "refuse"),
    ));
    let argv = |words: &[&str]| {
        let mut ask = command_ask("", "/w", jiff::Timestamp::UNIX_EPOCH);
        ask.subject = Subject::Command {
            command: words.join(" "),
            argv: words.iter().map(|it| (*it).to_owned()).collect(),
            cwd: "/w".to_owned(),
            write_stdin: false,
            host: None,
        };
        said_of(&rules, &ask, Some("/w"))
    };
    assert_eq!(argv(&["make", "a; rm b", "$x"]), "allowed by make");
    assert_eq!(argv(&["make x"]), "person");
    assert_eq!(argv(&["sudo", "rm", "x"]), "refused by no rm");
}

#[test]
fn what_is_said_when_nobody_answers_goes_by_command_file_or_kind() {
    let rules = rules(
        "[[rules]]\nname = \"all\"\nkind = [\"command\", \"user_input\"]\non_expiry = \"default\"\n\
         [[rules]]\nname = \"deploy\"\ncommand = [\"deploy\"]\noutcome = \"ask\"\n\
         on_expiry = \"wait\"\n\
         [[rules]]\nname = \"rm\"\ncommand = [\"rm\"]\non_expiry = \"cancel\"\n\
         [[rules]]\nname = \"ci\"\npaths = [\".ci/**\"]\non_expiry = \"decline\"\n",
    );
    let policy = rules.policy(&Scene { session: None, workspace: Some("/w") });
    let command =
        |line: &str| policy.on_expiry(&command_ask(line, "/w", jiff::Timestamp::UNIX_EPOCH));
    assert_eq!(command("make"), Some(OnExpiry::Default));
    assert_eq!(command("deploy now"), Some(OnExpiry::Wait));
    assert_eq!(command("deploy now && sudo rm x"), Some(OnExpiry::Cancel));
    assert_eq!(policy.on_expiry(&change_ask(&[".ci/run"])), Some(OnExpiry::Decline));
    assert_eq!(policy.on_expiry(&change_ask(&["a"])), None);
}

#[test]
fn a_kind_can_be_refused_as_a_whole() {
    let rules = rules("[[rules]]\nname = \"no\"\nkind = \"permissions\"\noutcome = \"refuse\"\n");
    let of = |subject| {
        let ask = command_ask("", "/w", jiff::Timestamp::UNIX_EPOCH);
        said_of(&rules, &Ask { subject, ..ask }, Some("/w"))
    };
    let permissions = serde_json::json!({});
    assert_eq!(of(Subject::Permissions { permissions, cwd: None }), "refused by no");
    assert_eq!(of(Subject::Adoption { caller: "c".to_owned(), client: None }), "person");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let ok = "name = \"x\"\ncommand = [\"make\"]\noutcome = \"allow\"\n";
    for (rule, expected) in [
        ("comand = [\"make\"]", "unknown field `comand`, expected one of `name`, `command`"),
        (
            "outcome = \"permit\"",
            "unknown variant `permit`, expected one of `allow`, `ask`, `refuse`",
        ),
        ("command = [\"make\"]\noutcome = \"allow\"", "missing field `name`"),
        (
            "name = \"x\"\noutcome = \"allow\"",
            "exactly one of `command`, `paths`, `reads_only`, `kind`",
        ),
        ("name = \"x\"\ncommand = [\"a\"]\npaths = [\"a\"]\noutcome = \"ask\"", "exactly one of"),
        ("name = \"x\"\ncommand = [\"make\"]", "needs an `outcome`"),
        ("name = \"x\"\ncommand = []\noutcome = \"ask\"", "`command` has 0 entries"),
        ("name = \"x\"\ncommand = [[]]\noutcome = \"ask\"", "`command` has 0 entries"),
        ("name = \"x\"\ncommand = [1]\noutcome = \"ask\"", "a text or a list of texts"),
        ("name = \"x\"\ncommand = [\"cargo test\"]\noutcome = \"ask\"", "[\"cargo\", \"test\"]"),
        ("name = \"a,b\"\ncommand = [\"make\"]\noutcome = \"ask\"", "without commas"),
        ("name = \" \"\ncommand = [\"make\"]\noutcome = \"ask\"", "1 to 64 characters"),
        ("name = \"x\"\npaths = [\"[\"]\noutcome = \"ask\"", "is no pattern of paths"),
        ("name = \"x\"\npaths = [\"../x\"]\noutcome = \"ask\"", "write it without `..`"),
        ("name = \"x\"\nkind = \"command\"\noutcome = \"allow\"", "can't be allowed as a whole"),
        ("name = \"x\"\nkind = \"user_input\"\noutcome = \"refuse\"", "questions are for people"),
        ("name = \"x\"\nkind = \"order\"\noutcome = \"ask\"", "unknown variant `order`"),
        ("name = \"x\"\nreads_only = true\noutcome = \"refuse\"", "only `allow` says more"),
        ("name = \"x\"\nreads_only = false\noutcome = \"allow\"", "can only be true"),
        (&format!("{ok}workspace = \"here\""), "must be an absolute path"),
        (&format!("{ok}session = \"mine\""), "a session's id such as sess_"),
        (&format!("{ok}expires = 2027-01-31"), "with a time and an offset"),
        (&format!("{ok}expires = 5"), "with a time and an offset"),
        (&format!("{ok}match = [\"ls\"]"), "does not match \"ls\""),
        (&format!("{ok}match = [\"make > out\"]"), "make > out: make runs what the project says"),
        (&format!("{ok}not_match = [\"make all\"]"), "it matches \"make all\""),
        (&format!("{ok}[[rules]]\n{ok}"), "line 6, rule \"x\": another rule has this name"),
        ("name = 5", "invalid type: integer"),
        ("name = ", "TOML parse error at line 3"),
    ] {
        let text = format!("# mine\n[[rules]]\n{rule}\n");
        let problem = Rules::parse(&text).unwrap_err().to_string();
        assert!(problem.contains(expected), "{rule}\n=> {problem}");
        let has_place = problem.contains("line 2, rule") || problem.contains("at line ");
        assert!(has_place || problem.contains("line 6"), "{problem}");
    }
    let many = |n: usize| -> String {
        (0..n).map(|it| command(&it.to_string(), "\"a\"", "ask")).collect()
    };
    assert!(Rules::parse(&many(MAX_RULES)).is_ok());
    assert!(Rules::parse(&many(MAX_RULES + 1)).is_err());
}

#[test]
fn other_settings_are_not_looked_at() {
    let rules = rules("log = \"debug\"\n[other]\nx = 1\n");
    assert_eq!(rules.iter().count(), 0);
}
