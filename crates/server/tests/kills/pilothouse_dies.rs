//! SIGKILL of Pilothouse, and what its successor on the same home finds and can do.

use pilothouse_core::{AskRef, Outcome, Settled};
use pilothouse_testkit::Chance;
use serde_json::json;

use crate::{
    checks::Log,
    client::{Client, Told},
    stage::{Moment, Stage, all_gone, below, script},
};

/// Kills it once; gives what came of the session and of its turn.
pub(crate) async fn once(mut chance: Chance) -> String {
    let moment = Moment::draw(&mut chance);
    let (look_first, hurry) = (chance.once_in(2), chance.once_in(2));
    let stage = Stage::new().await;
    let mut told = Told::new(chance.below(4));
    let mut client = stage.program();
    let said = client.watch();
    let playing = async {
        client.greet().await;
        stage.begin(&mut client, &mut told, &script()).await;
        moment.pause().await;
    };
    tokio::select! {
        biased;
        () = moment.come(said) => {}
        () = playing => {}
    }
    let left: Vec<u32> = below(client.child.id().unwrap()).iter().map(|it| it.0).collect();
    client.kill().await;
    drop(client);

    // Who comes next may come while the dead one's agents still leave.
    if !hurry {
        all_gone(&left, Some(stage.home.path())).await;
    }
    let at_death = if look_first { Log::read(stage.home.path()).await } else { Log::default() };
    let mut next = stage.program();
    next.greet().await;
    all_gone(&left, None).await;
    let (session, came_to) = go_on(&mut next, &told).await;
    if let Some(session) = &session {
        let history = next.history(session).await;
        for event in &told.events {
            assert!(history.contains(event), "{event} was told and is gone: {history:?}");
        }
    }
    next.leave().await;
    all_gone(&[], Some(stage.home.path())).await;

    let log = Log::read(stage.home.path()).await;
    at_death.begins(&log);
    log.agrees_with(&stage);
    for request in &told.taken {
        let ask = request.parse::<AskRef>().unwrap().ask;
        let how = log.settlement(ask);
        assert!(matches!(how, Some(Settled::Answered { .. })), "{request}: {how:?}");
    }
    let outcomes = log.outcomes();
    assert_eq!(outcomes.len(), log.n_turns(), "each turn has one end: {log:?}");
    assert_eq!(log.asks().count(), log.asks().filter(|it| log.settlement(it.0).is_some()).count());
    if told.rested {
        assert_eq!(outcomes[0], &Outcome::Completed);
        assert_eq!((stage.n_runs(), stage.is_patched()), (1, true));
    }
    // What Codex had not written down when it died is not remembered by Codex either, but once it
    // had asked something it had written down why.
    if came_to == "usable" && log.asks().count() > 0 {
        assert!(log.threads().windows(2).all(|it| it[0] == it[1]), "{:?}", log.threads());
        let memory = stage.model.requests().pop().unwrap().input_text();
        assert!(memory.contains("*** Add File: patched"), "it forgot the prompt: {memory}");
    }
    format!("{came_to}, {}", log.state_of_first_turn())
}

/// Prompts the session, if there is one: it works, or says why not.
async fn go_on(client: &mut Client, told: &Told) -> (Option<String>, &'static str) {
    let all = json!({"action": "list", "scope": "all"});
    let listed = client.call("codex_session", all).await["structuredContent"]["sessions"].take();
    let listed = listed.as_array().unwrap();
    let Some(session) = listed.first().and_then(|it| it["sessionId"].as_str()) else {
        assert_eq!(told.session, None, "a session that was told of is gone");
        return (None, "no session yet");
    };
    assert!(told.session.as_deref().is_none_or(|it| it == session), "{listed:?}");
    let prompt = "again\nSCRIPT:[[{\"msg\": \"back\", \"phase\": \"final_answer\"}]]";
    let arguments = json!({"sessionId": session, "prompt": prompt, "wait": true});
    let replied = client.call("codex_reply", arguments).await;
    let found = &replied["structuredContent"];
    let session = Some(session.to_owned());
    if replied["isError"] == true {
        let code = &found["error"]["code"];
        assert!(code.is_string() && *code != *"INTERNAL", "{replied}");
        return (session, "refused and says why");
    }
    assert_eq!(found["result"]["output"], "back", "{replied}");
    (session, "usable")
}
