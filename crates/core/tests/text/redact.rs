//! What is masked in a text, and what is not.

use std::time::Instant;

use pilothouse_core::redact::{redact, redact_json};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn secrets_are_masked_where_they_stand() {
    for (text, masked) in [
        // By their shape.
        ("key sk-test1234567890 here", "key [redacted:api-key] here"),
        ("sk-ant-api03-AbCdEf_gh-123.", "[redacted:api-key]."),
        ("echo -n sk-proj-abcdefgh|x", "echo -n [redacted:api-key]|x"),
        ("ghp_0123456789abcdefABCDEF", "[redacted:github-token]"),
        ("gho_0123456789 ghs_0123456789", "[redacted:github-token] [redacted:github-token]"),
        ("(github_pat_11AAAAAAA0_abcdefgh)", "([redacted:github-token])"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted:aws-key]"),
        ("xoxb-123456789012-abc", "[redacted:slack-token]"),
        (
            "https://hooks.slack.com/services/T000/B000/xyz9",
            "https://hooks.slack.com/services/[redacted:slack-token]",
        ),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "[redacted:jwt]"),
        ("phh_0123456789abcdef", "[redacted:token]"),
        ("a\\nsk-0123456789 b", "a\\n[redacted:api-key] b"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nnext",
            "[redacted:private-key]\nnext",
        ),
        ("\\n-----BEGIN PRIVATE KEY-----\\nMII", "\\n[redacted:private-key]"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ", "[redacted:private-key]"),
        // By a name.
        ("PASSWORD=hunter2 ls", "PASSWORD=[redacted:password] ls"),
        ("export DB_PASS='a b' && x", "export DB_PASS='[redacted:password]' && x"),
        ("GITHUB_TOKEN=abc;ls", "GITHUB_TOKEN=[redacted:token];ls"),
        ("SCRIPTED_KEY=abc", "SCRIPTED_KEY=[redacted:key]"),
        ("curl 'https://a/b?token=abc&x=1'", "curl 'https://a/b?token=[redacted:token]&x=1'"),
        ("?next=%2Fa%3Ftoken%3Dabc", "?next=%2Fa%3Ftoken%3D[redacted:token]"),
        ("{\"token\":\"a b\",\"x\":1}", "{\"token\":\"[redacted:token]\",\"x\":1}"),
        ("{\"apiKey\": 12345, \"x\": 1}", "{\"apiKey\": [redacted:api-key], \"x\": 1}"),
        (
            "{\"a\":\"{\\\"client_secret\\\":\\\"s\\\",\\\"b\\\":1}\"}",
            "{\"a\":\"{\\\"client_secret\\\":\\\"[redacted:secret]\\\",\\\"b\\\":1}\"}",
        ),
        ("{\"cmd\":\"TOKEN=abc\",\"b\":\"c\"}", "{\"cmd\":\"TOKEN=[redacted:token]\",\"b\":\"c\"}"),
        ("password: hunter2 and so on", "password: [redacted:password] and so on"),
        ("password: swordfish\nuser: me", "password: [redacted:password]\nuser: me"),
        ("password = \"open sesame\"", "password = \"[redacted:password]\""),
        ("os.environ['API_TOKEN'] = 'x'", "os.environ['API_TOKEN'] = '[redacted:token]'"),
        ("pass=ab\"c d\"e f", "pass=[redacted:password] f"),
        ("//registry/:_authToken=abc", "//registry/:_authToken=[redacted:token]"),
        ("Server=a;Password=b$c;Db=d", "Server=a;Password=[redacted:password];Db=d"),
        ("token=\"cut off", "token=\"[redacted:token]"),
        (
            "[(\"GH_TOKEN\", \"abc\"), (\"A\", \"b\")]",
            "[(\"GH_TOKEN\", \"[redacted:token]\"), (\"A\", \"b\")]",
        ),
        // By an option.
        ("tool --token abc --verbose", "tool --token [redacted:token] --verbose"),
        ("tool --api-key=abc", "tool --api-key=[redacted:api-key]"),
        ("tool --password 'a b'", "tool --password '[redacted:password]'"),
        ("[\"--token\", \"abc\", \"x\"]", "[\"--token\", \"[redacted:token]\", \"x\"]"),
        ("curl -u me:pw https://a", "curl -u me:[redacted:password] https://a"),
        // By a scheme.
        ("Authorization: Bearer abc", "Authorization: Bearer [redacted:authorization]"),
        (
            "curl -H 'Authorization: Basic YTpi' a",
            "curl -H 'Authorization: Basic [redacted:authorization]' a",
        ),
        (
            "Authorization: Strange abc def\nHost: a",
            "Authorization: [redacted:authorization]\nHost: a",
        ),
        (
            "\"authorization\": \"token abc\",",
            "\"authorization\": \"token [redacted:authorization]\",",
        ),
        ("Cookie: a=b; c=d\nHost: a", "Cookie: [redacted:cookie]\nHost: a"),
        ("sent Bearer abc123def", "sent Bearer [redacted:authorization]"),
        ("X-Api-Key: abc\r\n", "X-Api-Key: [redacted:api-key]\r\n"),
        // By an address.
        ("postgres://me:pw@host/db", "postgres://me:[redacted:password]@host/db"),
        ("https://0123456789abcdef0@github.com/a", "https://[redacted:credential]@github.com/a"),
    ] {
        assert_eq!(redact(text), masked, "{text}");
    }
}

#[test]
fn other_text_is_left_alone() {
    for text in [
        "",
        "git commit -m 'a task-force for disk-usage'",
        "risk-assessment-of-something-2024",
        "{\"isSecret\": true, \"inputTokens\": 12, \"token\": null}",
        "Pilothouse could not use `token`: it is over 200 characters",
        "an API bearer is a caller; basic tools; the bearer of news",
        "TOKEN=$GITHUB_TOKEN run; PASSWORD=${DB_PASSWORD} run",
        "PWD=/home/dev ls",
        "ssh://git@github.com/a/b.git http://a:80/b?mail=c@d",
        "npm_config_registry hf_hub_download_something_long",
        "if token == other { Token::Word }",
        "--password-stdin --no-token",
        "password= next",
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "sess_0123456789abcdef0123456789abcdef req_0123456789abcdef0123456789abcdef_1",
        "PUBLIC_KEY=abc monkey=1 KEY=1",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "日本語 = ￼ é\u{202e}",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn json_stays_json() {
    let mut value = json!({
        "env": {"GITHUB_TOKEN": "a", "HOME": "/h", "PIN_TOKEN": 12, "SECRET": true},
        "argv": ["curl", "--token", "abc", "-H", "Authorization: Bearer abc", "-v"],
        "credentials": {"user": "a", "list": ["b"]},
        "text": "password=x",
        "again": {"token": "[redacted:token]"},
    });
    let masked = json!({
        "env": {"GITHUB_TOKEN": "[redacted:token]", "HOME": "/h", "PIN_TOKEN": "[redacted:token]",
            "SECRET": true},
        "argv": ["curl", "--token", "[redacted:token]", "-H",
            "Authorization: Bearer [redacted:authorization]", "-v"],
        "credentials": {"user": "[redacted:credential]", "list": ["[redacted:credential]"]},
        "text": "password=[redacted:password]",
        "again": {"token": "[redacted:token]"},
    });
    redact_json(&mut value);
    assert_eq!(value, masked);
    redact_json(&mut value);
    assert_eq!(value, masked);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may look at the clock")]
fn a_long_text_takes_as_long_as_it_is_long() {
    // What would make a reader that looks back or ahead take the square of its length.
    let hostile = [
        "token=\"",
        "token='",
        "-----BEGIN PRIVATE KEY",
        "://a:",
        "://",
        "a=\\",
        "sk-",
        "token",
        "eyJ.",
        "Authorization: ",
        "token=a\"b ",
        "[redacted:",
        "Bearer ",
        "--token ",
        "\"token\\\\\\\\\"",
    ];
    for piece in hostile {
        let took = |n_bytes: usize| {
            let text = piece.repeat(n_bytes / piece.len());
            // The shortest of some, as others use the machine too.
            let once = || {
                let start = Instant::now();
                assert!(redact(&text).len() <= 8 * text.len() + 64);
                start.elapsed()
            };
            (0..5).map(|_| once()).min().unwrap_or_default()
        };
        took(1 << 14);
        let (small, large) = (took(1 << 15), took(1 << 18));
        // Eight times the text; sixty-four times would be the square.
        assert!(
            large < small * 24 + std::time::Duration::from_millis(50),
            "{piece}: {small:?}, {large:?}"
        );
    }
}

/// Secrets of any shape that we know of.
fn secret() -> impl Strategy<Value = String> {
    let body = "[A-Za-z0-9]{24,40}";
    let prefix = prop::sample::select(vec![
        "sk-",
        "sk-ant-",
        "ghp_",
        "gho_",
        "ghs_",
        "github_pat_",
        "xoxb-",
        "glpat-",
    ]);
    (prefix, body).prop_map(|(prefix, body)| format!("{prefix}{body}"))
}

/// What may stand before and after a secret without a shape.
fn setting() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop::sample::select(vec![
        ("password=", ""),
        ("TOKEN='", "'"),
        ("\"api_key\": \"", "\""),
        ("--token ", ""),
        ("Authorization: Bearer ", "\n"),
        ("https://me:", "@host/"),
        ("?access_token=", "&a=b"),
        ("{\\\"secret\\\":\\\"", "\\\"}"),
        ("Bearer ", ""),
        ("client_secret: ", "\n"),
        ("curl -u me:", " x"),
    ])
}

fn is_gone(masked: &str, secret: &str) -> bool {
    let letters: Vec<char> = secret.chars().collect();
    letters.windows(12).all(|it| !masked.contains(&it.iter().collect::<String>()))
}

proptest! {
    #[test]
    fn what_is_masked_stays_as_it_is(text in "(token=|sk-|ghp_|Bearer |password: |\"|'|\\\\|://|@|:|,|=| |\n|\\[redacted:|\\]|[a-zA-Z0-9]{1,20}|é|-----BEGIN PRIVATE KEY-----|--api-key |authorization: |-u ){0,24}") {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str(), "{}", text);
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
    }

    #[test]
    fn no_secret_of_a_known_shape_is_left(before in "[ -~]{0,12}[ =:\"'(/]", secret in secret(), after in "([ \"'),;\n].{0,12})?") {
        let masked = redact(&[before.as_str(), &secret, &after].concat()).into_owned();
        let body = secret.trim_start_matches(|it: char| !it.is_ascii_digit());
        prop_assert!(is_gone(&masked, body), "{}", masked);
    }

    #[test]
    fn no_secret_behind_its_name_is_left((open, close) in setting(), secret in "[A-Za-z0-9][A-Za-z0-9+/_.-]{20,40}", before in "([a-z ]{0,12} )?") {
        // A user's part of an address has no slash.
        let secret = secret.replace('/', "x");
        let masked = redact(&[before.as_str(), open, &secret, close].concat()).into_owned();
        prop_assert!(is_gone(&masked, &secret), "{}", masked);
    }
}
