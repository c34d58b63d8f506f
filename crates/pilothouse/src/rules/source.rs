//! Where a broker has its rules from, each time that an agent asks.

use std::{fmt, sync::Arc};

use pilothouse_core::Policy;

use super::Scene;

type Find = dyn Fn(&Scene<'_>) -> Arc<Policy> + Send + Sync;

/// Gives what holds in a scene at this moment, so that a rule that was changed or taken back holds
/// no longer for the next ask. Cheap to clone.
#[derive(Clone)]
pub struct PolicySource {
    find: Arc<Find>,
}

impl PolicySource {
    /// Asks a function each time. It is called by the loop that owns a session, which waits for
    /// it: it may look at a file of this machine, and no further.
    pub fn new(find: impl Fn(&Scene<'_>) -> Arc<Policy> + Send + Sync + 'static) -> Self {
        Self { find: Arc::new(find) }
    }

    /// What holds in a scene now.
    pub fn at(&self, scene: &Scene<'_>) -> Arc<Policy> {
        (self.find)(scene)
    }
}

impl fmt::Debug for PolicySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicySource").finish_non_exhaustive()
    }
}

/// The same everywhere and always.
impl From<Policy> for PolicySource {
    fn from(policy: Policy) -> Self {
        let policy = Arc::new(policy);
        Self::new(move |_| Arc::clone(&policy))
    }
}

/// These rules, always.
impl From<super::Rules> for PolicySource {
    fn from(rules: super::Rules) -> Self {
        Self::new(move |scene| Arc::new(rules.policy(scene)))
    }
}

impl Default for PolicySource {
    fn default() -> Self {
        Policy::default().into()
    }
}
