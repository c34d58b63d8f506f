//! codex.
