//! What Pilothouse's own tests drive and observe: a model, an agent and recordings of a real one.
//!
//! Read in this order:
//! * [`model`]: a Responses API that plays a script, so that the real Codex needs no account.
//! * [`binaries`]: where the real Codex and this crate's own programs are.

pub mod binaries;
pub mod model;

pub use binaries::{bin, codex_binary, workspace_root};
pub use model::ScriptedModel;
