//! The rules of supervision: what a session is, what may happen to it, and who may answer.
//!
//! This crate performs no I/O, reads no clock and draws no random numbers. A [`Session`] is the
//! fold of its [`Event`]s. Given a [`Moment`] and something that happened, it answers with a
//! [`Step`]: what to record, and what to do once that is on record.
//!
//! In reading order: [`Session`] and its three deciders ([`Session::on_intent`],
//! [`Session::on_agent`], [`Session::on_tick`]); [`Turn`] and [`Ask`]; [`Policy`]; the port to an
//! agent ([`FromAgent`], [`ToAgent`]); the log ([`Event`], [`Envelope`]); what surfaces show
//! ([`SessionView`], [`AskView`]).

mod agent;
mod ask;
mod command;
mod cursor;
pub mod display;
mod event;
mod form;
mod id;
mod item;
mod policy;
pub mod redact;
mod session;
mod spec;
mod subject;
mod turn;
mod view;

pub use crate::{
    agent::{Attach, Facts, FromAgent, Management, Request, Stream, SubAgent, ToAgent},
    ask::{
        Actor, Answer, Ask, Decision, Misfit, NetworkAmendment, Offer, OnExpiry, Reach, Settled,
        name as decision_name,
    },
    command::{COLLECT_WITHIN_S, CommandEnd, CommandProgress, CommandResult},
    cursor::{Cursor, ParseCursorError},
    event::{Envelope, Event, FORMAT, Origin},
    id::{AskId, AskRef, ParseIdError, Seq, SessionId, TurnId},
    policy::{Clarity, Part, Piece, Policy, Rule, RuleOutcome, Verdict, Weighed},
    session::{
        CallerRequest, Closing, Effect, Intent, MAX_EXPIRIES, MAX_PENDING_ADOPTIONS,
        MAX_PENDING_ASKS, MAX_PENDING_QUESTIONS, MAX_QUEUED_PROMPTS, Moment, Opening, Refusal,
        Session, Settlement, Step, Thread, WhenBusy,
    },
    spec::{Answerers, ApprovalPolicy, Isolation, Overrides, Patience, Prompt, Sandbox, Spec},
    subject::{AskKind, Change, Question, QuestionOption, Subject},
    turn::{AgentError, EndedTurn, Fault, Outcome, Progress, Report, Turn},
    view::{AskState, AskView, SessionView, Status, TurnStatus, TurnView},
};
