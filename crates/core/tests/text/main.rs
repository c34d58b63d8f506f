//! What text from agents looks like when others read it.

mod redact;
