//! The chain over a session's log, by which a change of it shows, and the signatures of its heads.
//!
//! The hash of an event is the SHA-256 of the hash before it (32 bytes), the length of the event's
//! JSON (8 bytes, big end first) and that JSON, byte for byte as it is kept. Before the first event
//! stands the SHA-256 of [`GENESIS`] and the session's 16 bytes, so that no log passes for another's.
//!
//! A head is signed with Ed25519 (RFC 8032) over what it is signed as, such as [`SIGNED`], the
//! session's 16 bytes, the event's number (8 bytes, big end first), its hash, and the head's own
//! number, if it has one (8 bytes).

use std::{fmt, str::FromStr};

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
#[cfg(feature = "sqlite")]
use pilothouse_core::{Envelope, Event};
use pilothouse_core::{Seq, SessionId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What the first hash of a chain is made of, before the session's name.
pub const GENESIS: &[u8] = b"pilothouse chain 1\n";
/// What the message of a head begins with that is signed for elsewhere.
pub const SIGNED: &[u8] = b"pilothouse head 1\n";
/// The same for a head that a store keeps.
pub const SIGNED_KEPT: &[u8] = b"pilothouse kept head 1\n";
/// The same for a log as it was before anything in it was signed.
pub const SIGNED_BASE: &[u8] = b"pilothouse base 1\n";
/// The same for the end of a log that is deleted.
pub const SIGNED_DELETED: &[u8] = b"pilothouse deleted 1\n";

/// Some bytes that are written in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes<const N: usize>(pub [u8; N]);

/// A link of a chain: what an event and everything before it come to.
pub type Hash = Bytes<32>;
/// The public half of a key that signs heads.
pub type PublicKey = Bytes<32>;

/// An event's place in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The event; 0 before the first.
    pub seq: Seq,
    /// What it and everything before it come to.
    pub chain: Hash,
}

/// What someone with a key has seen of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedHead {
    /// The session.
    pub session: SessionId,
    /// Its last event then.
    pub seq: Seq,
    /// What its log came to.
    pub chain: Hash,
    /// Whose key it was.
    pub key: PublicKey,
    /// The signature.
    pub signature: Bytes<64>,
    /// As what it was signed.
    #[serde(default, skip_serializing_if = "Role::is_end")]
    pub role: Role,
}

/// As what a head was signed: a signature for one thing is none for another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Role {
    /// Where a log ended, to be kept elsewhere.
    #[default]
    End,
    /// A decision or an ending, as it was recorded.
    Kept {
        /// Its number among all that this key signed in the store, from 1 without a gap.
        n: u64,
    },
    /// Where a log ended when its key began to sign in the store: what is before was taken as it was.
    Base {
        /// Its number, likewise.
        n: u64,
    },
    /// Where a log ended when it was deleted.
    Deleted,
}

impl Role {
    /// Whether it is what is meant when nothing is said.
    fn is_end(&self) -> bool {
        *self == Self::End
    }

    /// The number among what its key signed in the store.
    pub fn number(self) -> Option<u64> {
        match self {
            Self::Kept { n } | Self::Base { n } => Some(n),
            Self::End | Self::Deleted => None,
        }
    }
}

/// Who signs heads: a key that the store knows nothing about.
pub trait Signer: fmt::Debug + Send + Sync {
    /// The public half of its key.
    fn key(&self) -> PublicKey;
    /// An Ed25519 signature.
    fn sign(&self, message: &[u8]) -> Bytes<64>;
}

/// A signer that holds its key.
pub struct Ed25519(SigningKey);

impl Ed25519 {
    /// From a secret of 32 random bytes.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }
}

impl fmt::Debug for Ed25519 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ed25519").field(&self.key()).finish()
    }
}

impl Signer for Ed25519 {
    fn key(&self) -> PublicKey {
        Bytes(self.0.verifying_key().to_bytes())
    }

    fn sign(&self, message: &[u8]) -> Bytes<64> {
        Bytes(self.0.sign(message).to_bytes())
    }
}

impl Link {
    /// Before a session's first event.
    pub fn genesis(session: SessionId) -> Self {
        let digest = Sha256::new().chain_update(GENESIS).chain_update(session.0.as_bytes());
        Self { seq: Seq(0), chain: Bytes(digest.finalize().into()) }
    }

    /// After one more event, as its JSON is kept.
    #[must_use]
    pub fn next(self, json: &str) -> Self {
        let length = json.len() as u64;
        let digest = Sha256::new()
            .chain_update(self.chain.0)
            .chain_update(length.to_be_bytes())
            .chain_update(json);
        Self { seq: self.seq.next(), chain: Bytes(digest.finalize().into()) }
    }

    /// This link as the head of a session, signed for elsewhere.
    pub fn sign(self, session: SessionId, signer: &dyn Signer) -> SignedHead {
        self.sign_as(Role::End, session, signer)
    }

    /// This link as the head of a session, signed.
    pub fn sign_as(self, role: Role, session: SessionId, signer: &dyn Signer) -> SignedHead {
        let Self { seq, chain } = self;
        let signature = signer.sign(&message(role, session, self));
        SignedHead { session, seq, chain, key: signer.key(), signature, role }
    }
}

impl SignedHead {
    /// Its place in the chain.
    pub fn link(&self) -> Link {
        Link { seq: self.seq, chain: self.chain }
    }

    /// Whether the holder of its key signed it.
    pub fn is_genuine(&self) -> bool {
        is_signed_by(&self.key, &message(self.role, self.session, self.link()), &self.signature)
    }
}

/// Whether the holder of a key signed a message.
pub(crate) fn is_signed_by(key: &PublicKey, message: &[u8], signature: &Bytes<64>) -> bool {
    let signature = Signature::from_bytes(&signature.0);
    VerifyingKey::from_bytes(&key.0).is_ok_and(|it| it.verify_strict(message, &signature).is_ok())
}

/// Whether an event's head is signed: what was decided, and the end.
#[cfg(feature = "sqlite")]
pub(crate) fn is_signed(envelope: &Envelope) -> bool {
    matches!(envelope.event, Event::AskSettled { .. } | Event::Closed { .. })
}

fn message(role: Role, session: SessionId, link: Link) -> Vec<u8> {
    let (prefix, n) = match role {
        Role::End => (SIGNED, None),
        Role::Kept { n } => (SIGNED_KEPT, Some(n)),
        Role::Base { n } => (SIGNED_BASE, Some(n)),
        Role::Deleted => (SIGNED_DELETED, None),
    };
    let seq = link.seq.0.to_be_bytes();
    let mut res = [prefix, session.0.as_bytes(), &seq, &link.chain.0].concat();
    res.extend(n.into_iter().flat_map(u64::to_be_bytes));
    res
}

impl<const N: usize> fmt::Display for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|it| write!(f, "{it:02x}"))
    }
}

impl<const N: usize> fmt::Debug for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not so many bytes in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not {0} bytes in hexadecimal")]
pub struct ParseBytesError(usize);

impl<const N: usize> FromStr for Bytes<N> {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Self, ParseBytesError> {
        let digits = text.as_bytes();
        if digits.len() != 2 * N || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(ParseBytesError(N));
        }
        let mut res = [0; N];
        for (byte, at) in res.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| ParseBytesError(N))?;
        }
        Ok(Self(res))
    }
}

impl<const N: usize> Serialize for Bytes<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Bytes<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_head_is_genuine_only_as_it_was_signed() {
        let signer = Ed25519::new(&[7; 32]);
        let session = SessionId(Uuid::from_u128(1));
        let head = Link::genesis(session).next("{}").sign(session, &signer);
        assert!(head.is_genuine());
        let text = serde_json::to_string(&head).expect("it is plain");
        assert_eq!(serde_json::from_str::<SignedHead>(&text).expect("it was just written"), head);
        let mut forged = [head; 7];
        forged[0].seq = Seq(2);
        forged[1].session = SessionId(Uuid::from_u128(2));
        forged[2].chain = Bytes([0; 32]);
        forged[3].key = Ed25519::new(&[8; 32]).key();
        forged[4].role = Role::Deleted;
        forged[5].role = Role::Kept { n: 1 };
        let kept = Link::genesis(session).sign_as(Role::Kept { n: 1 }, session, &signer);
        assert!(kept.is_genuine());
        forged[6] = SignedHead { role: Role::Kept { n: 2 }, ..kept };
        assert!(forged.iter().all(|it| !it.is_genuine()));
    }

    #[test]
    fn a_chain_is_as_documented() {
        let session = SessionId(Uuid::from_u128(1));
        let first = Sha256::digest([GENESIS, session.0.as_bytes()].concat());
        assert_eq!(Link::genesis(session).chain.0, *first);
        let second = Sha256::digest([&first[..], &[0, 0, 0, 0, 0, 0, 0, 2], b"{}"].concat());
        assert_eq!(
            Link::genesis(session).next("{}"),
            Link { seq: Seq(1), chain: Bytes(second.into()) }
        );
    }
}
