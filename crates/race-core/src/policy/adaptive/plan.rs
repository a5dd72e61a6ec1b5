use core::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::rule::Rule;

/// What was drawn for a race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) delay: Duration,
    /// Whether it is hedged after the delay.
    pub(super) hedges: bool,
    /// Whether a rule was there to draw by.
    pub(super) is_drawn: bool,
}

/// Random numbers, which threads draw without a lock.
///
/// They are those of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, *Fast Splittable Pseudorandom
/// Number Generators*, OOPSLA 2014), whose state is a counter.
#[derive(Debug)]
pub(super) struct Draws(AtomicU64);

impl Draws {
    pub(super) const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Returns what a race does by a rule.
    pub(super) fn plan(&self, rule: Rule, delay: Duration) -> Plan {
        let hedges = rule.share.is_all() || rule.share.contains(self.next());
        Plan {
            delay,
            hedges,
            is_drawn: true,
        }
    }

    fn next(&self) -> u64 {
        const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
        let state = self.0.fetch_add(GAMMA, Ordering::Relaxed);
        let mixed = state.wrapping_add(GAMMA);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the authors' reference implementation with the seed 1234567.
    #[test]
    fn numbers_are_those_of_splitmix64() {
        let draws = Draws::new(1_234_567);
        for number in [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ] {
            assert_eq!(draws.next(), number);
        }
    }
}
