//! pilothouse.
