//! One run of a command: what it finds, what is kept of what it says, and how it ends.

use std::time::{Duration, Instant};

use pilothouse::{
    Broker, Config, MAX_COMMAND_OUTPUT,
    core::{CommandEnd, CommandResult, Subject},
    store::{Memory, MemoryWorld, NodeId},
};
use tokio_util::sync::CancellationToken;

use crate::desk::{alive, allowed, broker, caller, command, eventually, run, spec, token};

/// Ends nothing by itself that does not hang.
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_line_and_a_program_with_its_words_run_and_say_how_they_ended() {
    let broker = broker(&MemoryWorld::new(), "a").await;
    let words = |argv: &[&str]| {
        let argv: Vec<_> = argv.iter().map(|&it| it.to_owned()).collect();
        let Subject::Command { cwd, write_stdin, host, .. } = command("") else { unreachable!() };
        Subject::Command { command: argv.join(" "), argv, cwd, write_stdin, host }
    };
    let exited = |code| CommandEnd::Exited { code };
    for (subject, end, stdout, stderr) in [
        (command("echo out; echo err >&2; exit 3"), exited(3), "out\n", "err\n"),
        (command("-n() { echo dash; }; -n"), exited(0), "dash\n", ""),
        (
            command("pwd; read line || echo nothing to read"),
            exited(0),
            "/tmp\nnothing to read\n",
            "",
        ),
        (command("test -c /dev/stdin && [[ a == a ]] && echo bash"), exited(0), "bash\n", ""),
        (command(r"printf 'a\377b'"), exited(0), "a\u{fffd}b", ""),
        (command("kill -KILL $$"), CommandEnd::Signalled { signal: 9 }, "", ""),
        (words(&["echo", "$HOME;", "a  b"]), exited(0), "$HOME; a  b\n", ""),
        (words(&["false"]), exited(1), "", ""),
        (
            words(&["/nowhere/program"]),
            CommandEnd::NotStarted { problem: "there is no program /nowhere/program".to_owned() },
            "",
            "",
        ),
    ] {
        let ask = allowed(&broker, subject.clone()).await;
        let result = broker.run_command(ask, spec(), &caller()).await.unwrap();
        let expected = CommandResult {
            end,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            truncated: false,
        };
        assert_eq!(result, expected, "{subject:?}");
    }
    broker.stop().await;
}

#[tokio::test]
async fn its_environment_is_what_it_was_given_and_no_terminal_is_there() {
    let broker = broker(&MemoryWorld::new(), "a").await;
    let mut spec = spec();
    spec.env.insert("GIVEN".into(), "yes".into());
    let line = "export -p | sed 's/^declare -x //; s/=.*//' | sort | tr '\\n' ' '; \
                true </dev/tty || echo no terminal";
    let result = run(&broker, line, spec).await;
    // The last three are bash's own.
    assert_eq!(
        result.stdout, "GIVEN OLDPWD PATH PILOTHOUSE_AGENT PWD SHLVL no terminal\n",
        "{result:?}"
    );
    broker.stop().await;
}

#[tokio::test]
async fn at_the_timeout_it_ends_with_what_ignores_signals_and_left_its_session() {
    let broker = broker(&MemoryWorld::new(), "a").await;
    let token = token();
    let line = format!(
        "trap '' TERM; (env -i setsid sh -c 'trap \"\" TERM; sleep {token}; sleep {token}' &); \
         echo begun; sleep {token}; sleep {token}"
    );
    let mut spec = spec();
    spec.timeout = SHORT;
    let result = run(&broker, &line, spec).await;
    assert_eq!(result.end, CommandEnd::TimedOut { after_ms: 300 });
    assert_eq!(result.stdout, "begun\n", "what it had said by then is kept");
    assert_eq!(alive(&token), [""; 0]);
    broker.stop().await;
}

#[tokio::test]
async fn what_it_leaves_in_the_background_ends_with_it() {
    let broker = broker(&MemoryWorld::new(), "a").await;
    let token = token();
    let result = run(&broker, &format!("setsid sleep {token} & echo done"), spec()).await;
    assert_eq!((result.end, &*result.stdout), (CommandEnd::Exited { code: 0 }, "done\n"));
    assert_eq!(alive(&token), [""; 0]);
    broker.stop().await;
}

#[tokio::test]
async fn without_a_guard_it_ends_with_all_that_can_be_found() {
    let store = Memory::open(&MemoryWorld::new(), NodeId("a".to_owned()));
    let name = format!("unguarded-{}", std::process::id());
    let broker = Broker::open(Config::new(store, &name, "test")).await.unwrap();
    let token = token();
    let mut spec = spec();
    spec.timeout = SHORT;
    let line = format!("trap '' TERM; setsid sleep {token} & sleep {token}; sleep {token}");
    let result = run(&broker, &line, spec).await;
    assert_eq!(result.end, CommandEnd::TimedOut { after_ms: 300 });
    assert_eq!(alive(&token), [""; 0]);
    broker.stop().await;
}

#[tokio::test]
async fn a_call_that_is_taken_back_ends_what_it_runs() {
    let broker = broker(&MemoryWorld::new(), "a").await;
    let (token, taken_back) = (token(), CancellationToken::new());
    let ask = allowed(&broker, command(&format!("sleep {token}"))).await;
    let mut spec = spec();
    spec.taken_back = taken_back.clone();
    let who = caller();
    let running = broker.run_command(ask, spec, &who);
    let (result, ()) = tokio::join!(running, async {
        eventually("it runs", || !alive(&token).is_empty()).await;
        taken_back.cancel();
    });
    assert_eq!(result.unwrap().end, CommandEnd::TakenBack);
    assert_eq!(alive(&token), [""; 0]);
    broker.stop().await;
}

#[tokio::test]
async fn a_broker_that_leaves_ends_its_commands_and_says_so() {
    let world = MemoryWorld::new();
    let (here, there) = (broker(&world, "a").await, broker(&world, "b").await);
    let token = token();
    let ask = allowed(&here, command(&format!("sleep {token}"))).await;
    let who = caller();
    let (result, ()) = tokio::join!(here.run_command(ask, spec(), &who), async {
        eventually("it runs", || !alive(&token).is_empty()).await;
        here.stop().await;
    });
    assert_eq!(result.unwrap().end, CommandEnd::TakenBack);
    assert_eq!(alive(&token), [""; 0]);
    let recorded = there.run_command(ask, spec(), &who).await.unwrap();
    assert_eq!(recorded.end, CommandEnd::TakenBack);
    there.stop().await;
}

#[tokio::test]
async fn of_a_flood_the_ends_are_kept_and_it_never_waits_for_a_reader() {
    const FLOOD: u64 = 200_000_000;
    let broker = broker(&MemoryWorld::new(), "a").await;
    let before = peak_kib();
    let begun = Instant::now();
    let line = format!("echo first; head -c {FLOOD} /dev/zero; echo last; echo aside >&2");
    let result = run(&broker, &line, spec()).await;
    assert_eq!(result.end, CommandEnd::Exited { code: 0 });
    assert!(result.truncated && result.stdout.len() + result.stderr.len() <= MAX_COMMAND_OUTPUT);
    assert!(result.stdout.starts_with("first\n") && result.stdout.ends_with("last\n"));
    assert!(result.stdout.contains(" bytes are left out here]"));
    assert_eq!(result.stderr, "aside\n");
    let grown = peak_kib() - before;
    assert!(grown < 32 * 1024, "grew by {grown} KiB in {:?}", begun.elapsed());
    broker.stop().await;
}

/// The most memory that this process has ever had.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
