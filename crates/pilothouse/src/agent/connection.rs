//! The loop that owns one agent process and the conversation with it, for all sessions it serves.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use pilothouse_codex::{Missed, Output as Said, Tag};
use pilothouse_core::{AgentError, Attach, Fault, FromAgent, Spec, ToAgent};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::Instant,
};

use super::{
    conversation::Conversation,
    lines::Line,
    mailbox::Mailbox,
    process::{Exit, Output, Process, WriteError},
    tree::Ladder,
};

/// Orders that may wait for the loop; senders are tasks of ours and wait for room.
pub(crate) const MAX_ORDERS: usize = 1_024;

/// What a session, or the broker, wants of the agent.
#[derive(Debug)]
pub(crate) enum Order {
    /// Bring a thread to a session.
    Attach { tag: Tag, how: Attach, spec: Box<Spec>, mailbox: Arc<Mailbox> },
    /// Bring a session back to the thread that it had, in this process.
    Rejoin { tag: Tag, missed: Box<Missed>, spec: Box<Spec>, mailbox: Arc<Mailbox> },
    /// Leave the thread as it is, with its turn under way, for who comes back to it.
    Part { tag: Tag },
    /// Tell the thread something.
    Tell { tag: Tag, message: Box<ToAgent> },
    /// Take the thread from its session; what it runs ends.
    Detach { tag: Tag, forever: bool },
    /// Ask the agent something that belongs to no turn.
    Request {
        tag: Option<Tag>,
        method: String,
        params: Value,
        reply: oneshot::Sender<Result<Value, AgentError>>,
    },
    /// End the turn that was begun and has no name yet, where turns have processes.
    GiveUp,
    /// End the process; leave it, if it is kept and something goes on there.
    End { ladder: Ladder },
}

pub(crate) struct Connection {
    process: Process,
    peer: Conversation,
    name: String,
    orders: mpsc::Receiver<Order>,
    mailboxes: BTreeMap<Tag, Arc<Mailbox>>,
    requests: BTreeMap<u64, oneshot::Sender<Result<Value, AgentError>>>,
    n_requests: u64,
    ladder: Ladder,
    idle_limit: Duration,
    idle_since: Option<Instant>,
    /// The process outlives us.
    is_kept: bool,
    /// Sessions that left something going on.
    n_parted: usize,
    cause: Option<String>,
    fault: Option<Fault>,
    ending: JoinSet<()>,
}

enum Happening {
    Process(Option<Output>),
    Order(Option<Order>),
    Deadline,
    Idle,
}

impl Connection {
    pub(crate) fn new(
        process: Process,
        peer: Conversation,
        name: String,
        orders: mpsc::Receiver<Order>,
        ladder: Ladder,
        idle_limit: Duration,
    ) -> Self {
        Self {
            process,
            peer,
            name,
            orders,
            mailboxes: BTreeMap::new(),
            requests: BTreeMap::new(),
            n_requests: 0,
            ladder,
            idle_limit,
            idle_since: Some(Instant::now()),
            is_kept: false,
            n_parted: 0,
            cause: None,
            fault: None,
            ending: JoinSet::new(),
        }
    }

    /// The same for a process that outlives us.
    pub(crate) fn kept(mut self) -> Self {
        self.is_kept = true;
        self
    }

    /// Runs until the process is gone, or is left.
    pub(crate) async fn run(mut self) {
        let hello = self.peer.hello(now());
        self.perform(hello, 0);
        let mut orders_open = true;
        loop {
            let deadline = self.peer.next_deadline().map(until);
            let idle = self.idle_since.map(|it| it + self.idle_limit);
            let happening = tokio::select! {
                biased;
                output = self.process.next() => Happening::Process(output),
                order = self.orders.recv(), if orders_open => Happening::Order(order),
                () = at(deadline) => Happening::Deadline,
                () = at(idle), if self.ending.is_empty() && self.n_parted == 0 => Happening::Idle,
            };
            match happening {
                Happening::Process(Some(Output::Line(line))) => self.on_line(line),
                Happening::Process(Some(Output::Exit(exit))) => {
                    self.on_exit(&exit);
                    return;
                }
                Happening::Process(None) => return,
                Happening::Order(Some(Order::End { .. }) | None) if self.n_parted > 0 => {
                    tracing::info!(process = self.name, "left an agent at work, to come back to");
                    return;
                }
                Happening::Order(Some(order)) => self.on_order(order),
                Happening::Order(None) => {
                    orders_open = false;
                    self.end("Pilothouse let it go", self.ladder);
                }
                Happening::Deadline => {
                    let said = self.peer.on_tick(now());
                    self.perform(said, 0);
                }
                Happening::Idle => self.end("it had no session left", self.ladder),
            }
        }
    }

    fn on_line(&mut self, line: Line) {
        match line {
            Line::Text { text, lossy } => {
                if lossy {
                    tracing::debug!(process = self.name, "a line was not UTF-8");
                }
                let n_bytes = text.len();
                let said = self.peer.receive(now(), &text);
                self.perform(said, n_bytes);
            }
            Line::TooLong { bytes } => {
                tracing::warn!(process = self.name, bytes, "skipped a line over the limit");
            }
            Line::Torn { text } => {
                tracing::warn!(process = self.name, bytes = text.len(), "its last line was torn");
            }
        }
    }

    fn on_order(&mut self, order: Order) {
        let now = now();
        let said = match order {
            Order::Attach { tag, how, spec, mailbox } => {
                self.mailboxes.insert(tag, mailbox);
                self.idle_since = None;
                self.peer.attach(now, tag, &how, &spec)
            }
            Order::Rejoin { tag, missed, spec, mailbox } => {
                self.mailboxes.insert(tag, mailbox);
                self.idle_since = None;
                self.peer.rejoin(now, tag, *missed, &spec)
            }
            Order::Part { tag } => {
                self.mailboxes.remove(&tag);
                self.n_parted += usize::from(self.is_kept);
                return;
            }
            Order::Tell { tag, message } => self.peer.tell(now, tag, *message),
            Order::Detach { tag, forever } => {
                let said = self.peer.detach(now, tag, forever);
                self.forget(tag);
                said
            }
            Order::Request { tag, method, params, reply } => {
                self.n_requests += 1;
                self.requests.insert(self.n_requests, reply);
                self.peer.request(now, tag, self.n_requests, &method, params)
            }
            // A turn is stopped by its name here, once it has one.
            Order::GiveUp => return,
            Order::End { ladder } => {
                self.end("Pilothouse is stopping", ladder);
                return;
            }
        };
        self.perform(said, 0);
    }

    fn forget(&mut self, tag: Tag) {
        self.mailboxes.remove(&tag);
        if self.mailboxes.is_empty() {
            self.idle_since = Some(Instant::now());
        }
    }

    fn perform(&mut self, said: Vec<Said>, n_bytes: usize) {
        for it in said {
            match it {
                Said::Line(line) => {
                    if let Err(error) = self.process.handle().write(line) {
                        self.on_unwritten(error);
                    }
                }
                Said::Said(tag, message) => self.deliver(tag, message, n_bytes),
                Said::Up { version } => {
                    tracing::debug!(process = self.name, version, "agent is up");
                }
                Said::Answered { id, result } => {
                    if let Some(reply) = self.requests.remove(&id) {
                        // Who asked may have gone meanwhile.
                        drop(reply.send(result));
                    }
                }
                Said::Broken { cause } => self.end(&cause, self.ladder),
            }
        }
    }

    fn on_unwritten(&mut self, error: WriteError) {
        let mut ladder = self.ladder;
        if error == WriteError::Blocked && self.cause.is_none() {
            self.fault = Some(Fault::DoesNotRead);
            // It would not read the end of its input either.
            ladder.close_stdin = Duration::ZERO;
        }
        self.end(&error.to_string(), ladder);
    }

    fn deliver(&mut self, tag: Tag, message: FromAgent, n_bytes: usize) {
        let Some(mailbox) = self.mailboxes.get(&tag) else { return };
        mailbox.push(message, n_bytes);
        if mailbox.is_overrun() {
            let said = self.peer.detach(now(), tag, true);
            self.forget(tag);
            self.perform(said, 0);
        }
    }

    fn end(&mut self, cause: &str, ladder: Ladder) {
        self.cause.get_or_insert_with(|| cause.to_owned());
        if !self.ending.is_empty() {
            return;
        }
        // From here on nobody gets a thread of it: the pool starts another process.
        self.orders.close();
        let mut ladder = ladder;
        if self.is_kept {
            // It has no stdin that could be closed.
            ladder.close_stdin = Duration::ZERO;
        }
        let handle = self.process.handle().clone();
        let name = self.name.clone();
        self.ending.spawn(async move {
            match handle.end(ladder).await {
                Ok(ended) => tracing::debug!(process = name, rung = ?ended.rung, "agent ended"),
                Err(error) => tracing::error!(process = name, %error, "agent would not end"),
            }
        });
    }

    fn on_exit(&mut self, exit: &Exit) {
        self.orders.close();
        let cause = self.exit_cause(exit);
        let said = self.peer.exited(&cause, self.fault);
        self.perform(said, 0);
        // Orders that came too late: their sessions must hear it too.
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Attach { mailbox, .. } | Order::Rejoin { mailbox, .. } => {
                    let (cause, fault) = (cause.clone(), self.fault);
                    mailbox.push(FromAgent::Exited { cause, fault }, 0);
                }
                Order::Request { reply, .. } => {
                    let detail = self.fault.map_or(Value::Null, |it| json!({ "code": it.code() }));
                    drop(reply.send(Err(AgentError { message: cause.clone(), detail })));
                }
                Order::Tell { .. }
                | Order::Detach { .. }
                | Order::Part { .. }
                | Order::GiveUp
                | Order::End { .. } => {}
            }
        }
    }

    fn exit_cause(&self, exit: &Exit) -> String {
        let status = exit.status.map_or_else(|| "without a status".to_owned(), |it| it.to_string());
        let why = self.cause.as_deref().unwrap_or("it ended by itself");
        let mut cause = format!("agent process {} is gone ({status}): {why}", self.name);
        let tail = self.process.handle().stderr_tail();
        if self.cause.is_none() && !tail.is_empty() {
            cause.push_str("; its last words: ");
            cause.push_str(&tail.join("\n"));
        }
        cause
    }
}

fn now() -> Timestamp {
    crate::clock::now()
}

fn until(deadline: Timestamp) -> Instant {
    Instant::now() + crate::clock::wait(deadline)
}

async fn at(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}
