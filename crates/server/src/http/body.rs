//! What comes in, parsed at the edge: bodies, queries and ids, each failure a problem.

use std::{fmt::Display, time::Duration};

use axum::{
    Json,
    extract::{FromRequest, FromRequestParts, Query, Request},
    http::{StatusCode, request::Parts},
};
use serde::{Deserialize as _, Deserializer, de::DeserializeOwned};

use super::problem::Problem;

/// How long a body may take, from the first byte to the last.
const BODY_LIMIT: Duration = Duration::from_secs(30);

/// A JSON body.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = tokio::time::timeout(BODY_LIMIT, Json::<T>::from_request(request, state)).await;
        let Json(value) = read.map_err(|_| {
            let seconds = BODY_LIMIT.as_secs();
            let detail = format!("read the body: it was not there whole within {seconds} s");
            Problem::new(StatusCode::REQUEST_TIMEOUT, "TIMEOUT", detail)
        })??;
        Ok(Self(value))
    }
}

/// The parameters after the question mark.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(value) = Query::<T>::from_request_parts(parts, state).await?;
        Ok(Self(value))
    }
}

/// Parses a field, whose error says what was expected.
pub(super) fn parse<T>(field: &str, text: &str) -> Result<T, Problem>
where
    T: std::str::FromStr<Err: Display>,
{
    text.parse().map_err(|error: T::Err| Problem::field(field, &error.to_string()))
}

/// `scope=all`: what other callers own, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scope {
    #[default]
    Own,
    All,
}

/// A number in a query, which is text there.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| {
        let shown: String = text.chars().take(40).collect();
        serde::de::Error::custom(format!("{shown:?} is not a whole number"))
    })
}
