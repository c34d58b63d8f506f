//! pilothouse.

pub mod agent;
