//! SIGKILL of Codex under a Pilothouse that lives: the turn is lost, the session is not.

use pilothouse_core::{Outcome, Settled};
use pilothouse_testkit::Chance;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    checks::Log,
    client::Told,
    stage::{Moment, Stage, all_gone, below, script},
};

/// Kills it once in the second turn; gives how that turn ended.
pub(crate) async fn once(mut chance: Chance) -> &'static str {
    let moment = Moment::draw(&mut chance);
    let stage = Stage::new().await;
    let mut told = Told::new(chance.below(4));
    let mut client = stage.program();
    client.greet().await;
    let first = json!([[{"msg": "the word is quince", "phase": "final_answer"}]]);
    stage.begin(&mut client, &mut told, &first).await;
    let session = told.session.clone().unwrap();

    let pilothouse = client.child.id().unwrap();
    let said = client.watch();
    let killed = {
        let mut playing = std::pin::pin!(async {
            let prompt = format!("more\nSCRIPT:{}", script());
            let arguments = json!({"sessionId": session, "prompt": prompt});
            let replied = client.call("codex_reply", arguments).await;
            assert_ne!(replied["isError"], true, "{replied}");
            client.follow(&mut told).await;
        });
        tokio::select! {
            biased;
            () = moment.come(said) => {
                let killed = kill_codex(pilothouse);
                playing.await;
                killed
            }
            // It rests, or waits for an answer, before the moment came.
            () = &mut playing => {
                moment.pause().await;
                kill_codex(pilothouse)
            }
        }
    };
    told.answers = u64::MAX;
    client.follow(&mut told).await;
    all_gone(&killed, None).await;

    let prompt = "again\nSCRIPT:[[{\"msg\": \"back\", \"phase\": \"final_answer\"}]]";
    let arguments = json!({"sessionId": session, "prompt": prompt, "wait": true});
    let mut replied = client.call("codex_reply", arguments.clone()).await;
    // It may be told to the dead process, before its death is noticed: then it is lost, and said
    // to be, since nobody knows whether it was read. Never twice.
    let told_too_early = replied["structuredContent"]["result"]["status"] == "lost";
    if told_too_early {
        replied = client.call("codex_reply", arguments).await;
    }
    assert_eq!(replied["structuredContent"]["result"]["output"], "back", "{replied}");
    let memory = stage.model.requests().pop().unwrap().input_text();
    assert!(memory.contains("the word is quince"), "it forgot: {memory}");
    let history = client.history(&session).await;
    for event in &told.events {
        assert!(history.contains(event), "{event} was told and is gone: {history:?}");
    }
    client.leave().await;
    all_gone(&[], Some(stage.home.path())).await;

    let log = Log::read(stage.home.path()).await;
    log.agrees_with(&stage);
    assert!(log.threads().windows(2).all(|it| it[0] == it[1]), "{:?}", log.threads());
    let outcomes = log.outcomes();
    assert_eq!(outcomes.len(), 3 + usize::from(told_too_early), "{outcomes:?}");
    assert_eq!((outcomes[0], outcomes.last()), (&Outcome::Completed, Some(&&Outcome::Completed)));
    let settled: Vec<_> = log.asks().map(|it| log.settlement(it.0)).collect();
    match outcomes[1] {
        Outcome::Completed => {
            assert_eq!((stage.n_runs(), stage.is_patched()), (1, true));
            "turn completed"
        }
        Outcome::Lost { .. } => {
            for how in &settled {
                let known = matches!(how, Some(Settled::Answered { .. } | Settled::Lost));
                assert!(known, "{settled:?}");
            }
            if settled.contains(&Some(&Settled::Lost)) { "turn and ask lost" } else { "turn lost" }
        }
        Outcome::Interrupted | Outcome::Failed { .. } => panic!("{outcomes:?}"),
    }
}

/// Kills every Codex below a process; gives those that there were.
fn kill_codex(below_pid: u32) -> Vec<u32> {
    let processes = below(below_pid);
    let codex: Vec<u32> = processes.iter().filter(|it| it.1 == "codex").map(|it| it.0).collect();
    for pid in &codex {
        let pid = Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
        // It may have gone by itself in this moment.
        kill_process(pid, Signal::KILL).ok();
    }
    codex
}
