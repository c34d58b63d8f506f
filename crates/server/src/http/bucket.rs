//! How often something may happen: a bucket that fills with time and is emptied by use.

use std::time::{Duration, Instant};

/// A bucket. Time is an argument.
#[derive(Debug)]
pub(crate) struct Bucket {
    size: u32,
    refill: Duration,
    left: u32,
    since: Instant,
}

impl Bucket {
    /// A full one, into which a drop falls every `refill`.
    pub(crate) fn new(size: u32, refill: Duration, now: Instant) -> Self {
        Self { size, refill, left: size, since: now }
    }

    /// Takes a drop, if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let drops = now.duration_since(self.since).as_nanos() / self.refill.as_nanos().max(1);
        let drops = u32::try_from(drops).unwrap_or(u32::MAX);
        if drops > 0 {
            self.left = self.left.saturating_add(drops).min(self.size);
            self.since =
                if self.left == self.size { now } else { self.since + self.refill * drops };
        }
        let taken = self.left > 0;
        self.left -= u32::from(taken);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_empties_and_fills_again() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut bucket = Bucket::new(2, second, start);
        assert_eq!([0, 0, 0].map(|_| bucket.take(start)), [true, true, false]);
        assert!(!bucket.take(start + second / 2));
        // The half second that had passed counts.
        assert!(bucket.take(start + second));
        assert!(!bucket.take(start + second));
        let later = start + 100 * second;
        assert_eq!([0, 0, 0].map(|_| bucket.take(later)), [true, true, false]);
    }
}
