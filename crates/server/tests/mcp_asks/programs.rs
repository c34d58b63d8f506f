//! The program itself: two of it on one store, and one that is left in mid-form.

use std::path::Path;

use pilothouse::{
    Broker, Config,
    core::{Actor, Settled},
    store::{AskFilter, Sqlite},
};
use serde_json::json;

use crate::{
    client::{Client, content},
    room::{accept, colour, picked},
};

/// The only question on a store.
async fn only_ask(home: &Path) -> pilothouse::core::AskView {
    let store = Sqlite::open(&home.join("pilothouse.db")).unwrap();
    let name = home.file_name().unwrap().to_str().unwrap();
    let broker = Broker::open(Config::new(store, name, "test")).await.unwrap();
    let filter = AskFilter { session: None, opened_by: None, pending: false };
    let mut asks = broker.asks(filter, 10, None).await.unwrap().rows;
    broker.stop().await;
    assert_eq!(asks.len(), 1);
    asks.remove(0)
}

#[tokio::test]
async fn a_reply_is_taken_by_the_process_that_it_comes_to() {
    for first_is_gone in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let able = json!({"elicitation": {}});
        let mut first = Client::spawn(home.path());
        first.stateless("editor", able.clone());
        let asked = first.call("request_choice", &colour()).await;
        assert_eq!(asked["resultType"], "input_required");
        if first_is_gone {
            first.leave().await;
        }
        let mut second = Client::spawn(home.path());
        second.stateless("editor", able);
        let reply = Some(accept(json!({"q1": "blue"})));
        let result = second.retry("request_choice", &colour(), &asked, reply).await;
        assert_eq!(content(result), picked("blue", "Blue"), "{first_is_gone}");
        second.leave().await;
        if !first_is_gone {
            first.leave().await;
        }
        let Settled::Answered { by, .. } = only_ask(home.path()).await.settlement.unwrap().how
        else {
            panic!("it was answered");
        };
        assert_eq!(by, Actor::Human { via: "editor".to_owned(), verified: false });
    }
}

#[tokio::test]
async fn what_a_connection_asked_is_withdrawn_with_it() {
    let home = tempfile::tempdir().unwrap();
    let mut client = Client::spawn(home.path());
    client.connect("2025-11-25", "editor", json!({"elicitation": {}})).await;
    client.begin("request_choice", &colour()).await;
    client.asked().await;
    client.leave().await;
    let settlement = only_ask(home.path()).await.settlement.unwrap();
    assert_eq!(settlement.how, Settled::Withdrawn);
}
