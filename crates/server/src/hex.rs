//! Hashes and secrets as text.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// The SHA-256 of some bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut res, it| {
        // Writing to a string cannot fail.
        write!(res, "{it:02x}").ok();
        res
    })
}

/// A new secret of 64 digits. The system's random numbers are behind it: two UUIDs of version 4,
/// which is 244 bits.
pub(crate) fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// Whether a text is the SHA-256 of something, as we write it.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}
