//! What is written can be read again, and in one spelling only.

use std::{fmt::Debug, str::FromStr};

use pilothouse_core::{AskId, AskRef, Cursor, Intent, SessionId};
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use crate::{
    config,
    happening::{actor, answer, intent, prompt, spec},
};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn names_survive_text(id in any::<u128>(), number in any::<u32>(), place in any::<u64>()) {
        let session = SessionId(Uuid::from_u128(id));
        survives_text(&session);
        survives_text(&AskRef { session, ask: AskId(number) });
        survives_text(&Cursor(place));
    }

    #[test]
    fn every_name_has_one_spelling(
        session in "(sess|SESS)_[0-9a-fA-F]{31,33}",
        ask in "req_[0-9a-f]{32}_[+0-9]{0,11}",
        cursor in "[cC][+0-9a-fA-F]{0,17}",
        any in ".{0,90}",
    ) {
        for text in [&session, &ask, &cursor, &any] {
            has_one_spelling::<SessionId>(text);
            has_one_spelling::<AskRef>(text);
            has_one_spelling::<Cursor>(text);
        }
    }

    #[test]
    fn what_people_want_survives_json(
        intent in intent(), spec in spec(), prompt in prompt(), by in actor(), answer in answer(),
    ) {
        survives_json::<Intent>(&intent);
        survives_json(&spec);
        survives_json(&prompt);
        survives_json(&by);
        survives_json(&answer);
    }
}

fn survives_text<T>(value: &T)
where
    T: Debug + ToString + FromStr<Err: Debug> + PartialEq + Serialize + DeserializeOwned,
{
    assert_eq!(value.to_string().parse::<T>().unwrap(), *value);
    survives_json(value);
}

fn survives_json<T: Debug + PartialEq + Serialize + DeserializeOwned>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *value, "{text}");
}

fn has_one_spelling<T: FromStr + ToString>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string(), text);
    }
}
