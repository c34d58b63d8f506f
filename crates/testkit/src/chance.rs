//! Chance that can be repeated: a seed that is told, and everything that is drawn from it.

use std::{
    env,
    hash::{BuildHasher, RandomState},
};

/// What is drawn from a seed: the same seed gives the same again.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// What a seed gives.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number (splitmix64).
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit, which is at least 1.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit.max(1)
    }

    /// A place in a list of this length, which is at least 1.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// The seed that a variable of the environment names, else a fresh one.
pub fn seed(variable: &str) -> u64 {
    number(variable).unwrap_or_else(|| RandomState::new().hash_one(variable))
}

/// How often: what a variable of the environment says, else as given.
pub fn times(variable: &str, otherwise: u64) -> u64 {
    number(variable).unwrap_or(otherwise)
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    // A seed that is mistyped must not become another run that passes.
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_again_and_another_seed_something_else() {
        let drawn = |seed| {
            let mut chance = Chance::new(seed);
            (0..8).map(|_| chance.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn every_number_below_the_limit_comes() {
        let mut chance = Chance::new(1);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[chance.index(5)] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
