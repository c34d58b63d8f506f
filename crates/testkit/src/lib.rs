//! What Pilothouse's own tests drive and observe: a model, an agent and recordings of a real one.
//!
//! Read in this order:
//! * [`model`]: a Responses API that plays a script, so that the real Codex needs no account.
//! * [`agent`]: a scripted Codex, which can do what the real one only does by accident.
//! * [`client`]: the smallest client of `codex app-server`, which records both halves.
//! * [`recording`]: recordings of such conversations; loading, normalising, comparing.
//! * [`scenarios`]: the conversations that can be recorded again when Codex is released.
//! * [`faults`]: pipes and disks that fail on cue.
//! * [`chance`]: random choices that a seed gives again.
//! * [`binaries`]: where the real Codex and this crate's own programs are.

pub mod agent;
pub mod binaries;
pub mod chance;
pub mod client;
pub mod faults;
pub mod model;
pub mod recording;
pub mod scenarios;

pub use agent::FakeAgent;
pub use binaries::{bin, codex_binary, installed_codex, workspace_root};
pub use chance::Chance;
pub use client::AppServer;
pub use model::ScriptedModel;
pub use recording::Recording;
