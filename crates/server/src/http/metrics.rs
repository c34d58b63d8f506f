//! Numbers for monitoring, in the text format that Prometheus reads.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use pilothouse_store::{AskFilter, MAX_PAGE};

use super::{
    Front,
    problem::{Doing, Problem},
};

/// What is counted here; everything else is looked up when it is wanted.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    answered: [AtomicU64; 5],
    wrong_secrets: AtomicU64,
}

impl Metrics {
    pub(super) fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(count) = self.answered.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn wrong_secret(&self) {
        self.wrong_secrets.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) async fn show(State(front): State<Arc<Front>>) -> Result<Response, Problem> {
    const DOING: &str = "gather the metrics";
    let filter = AskFilter { pending: true, ..AskFilter::default() };
    let pending = front.broker.asks(filter, MAX_PAGE, None).await.doing(DOING)?.rows.len();
    let nodes = front.broker.nodes().await.doing(DOING)?;
    let alive = nodes.iter().filter(|it| it.alive);
    let humans: u32 = alive.clone().map(|it| it.presence.human_surfaces).sum();
    let mut res = String::new();
    let mut family = |name: &str, kind: &str, help: &str, rows: &[(String, u64)]| {
        // Writing to a string cannot fail.
        writeln!(res, "# HELP pilothouse_{name} {help}\n# TYPE pilothouse_{name} {kind}").ok();
        for (labels, value) in rows {
            writeln!(res, "pilothouse_{name}{labels} {value}").ok();
        }
    };
    let answered = front.metrics.answered.iter().zip(1..);
    let answered: Vec<_> = answered
        .map(|(count, class)| (format!("{{status=\"{class}xx\"}}"), count.load(Ordering::Relaxed)))
        .collect();
    let one = |value: u64| [(String::new(), value)];
    family("http_responses_total", "counter", "Responses, by class of status.", &answered);
    let wrong = front.metrics.wrong_secrets.load(Ordering::Relaxed);
    family("http_wrong_secrets_total", "counter", "Wrong tokens, codes and logins.", &one(wrong));
    family("feeds_open", "gauge", "Feeds that are read.", &one(front.watchers.count().into()));
    family("people_present", "gauge", "Feeds of people, on all nodes.", &one(humans.into()));
    family("nodes_alive", "gauge", "Nodes of the store.", &one(alive.count() as u64));
    family("asks_pending", "gauge", "Requests that wait, up to 1000.", &one(pending as u64));
    let agents = front.broker.agent_pids().await.len() as u64;
    family("agents", "gauge", "Agent processes of this node.", &one(agents));
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], res).into_response())
}
