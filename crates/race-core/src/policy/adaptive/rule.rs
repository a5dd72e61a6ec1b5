use core::sync::atomic::{AtomicU64, Ordering};

/// The longest delay in nanoseconds, 73 minutes. Longer ones count as this one.
pub(super) const LONGEST: u64 = (1 << DELAY_BITS) - 1;

const DELAY_BITS: u32 = 42;

const SHARE_BITS: u32 = 21;

/// When a race is hedged: after `delay`, in a `share` of the races.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    /// In nanoseconds.
    pub(super) delay: u64,
    pub(super) share: Share,
}

/// A share of the races, from 2^-21 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(u32);

impl Share {
    pub(super) const ALL: Self = Self((1 << SHARE_BITS) - 1);

    /// Rounds to 2^-21.
    pub(super) fn new(share: f64) -> Self {
        let steps = (share * f64::from(1_u32 << SHARE_BITS)) as u32;
        Self(steps.clamp(1, 1 << SHARE_BITS) - 1)
    }

    pub(super) fn get(self) -> f64 {
        f64::from(self.0 + 1) / f64::from(1_u32 << SHARE_BITS)
    }

    pub(super) fn is_all(self) -> bool {
        self == Self::ALL
    }

    /// Returns whether a race with this random number is one of them.
    pub(super) const fn contains(self, random: u64) -> bool {
        random >> (u64::BITS - SHARE_BITS) <= self.0 as u64
    }
}

/// A rule that threads read while another one changes it.
pub(super) struct AtomicRule(AtomicU64);

impl AtomicRule {
    pub(super) const fn none() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn load(&self) -> Option<Rule> {
        let bits = self.0.load(Ordering::Relaxed);
        let share = Share(bits as u32 & Share::ALL.0);
        let delay = bits >> SHARE_BITS & LONGEST;
        (bits >> (DELAY_BITS + SHARE_BITS) == 1).then_some(Rule { delay, share })
    }

    pub(super) fn store(&self, rule: Option<Rule>) {
        let bits = rule.map_or(0, |Rule { delay, share }| {
            let delay = delay.min(LONGEST) | 1 << DELAY_BITS;
            delay << SHARE_BITS | u64::from(share.0)
        });
        self.0.store(bits, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_as_it_was_stored() {
        let stored = AtomicRule::none();
        assert_eq!(stored.load(), None);
        for delay in [0, 1, 12_345_678, LONGEST] {
            for share in [0.0, 1e-9, 0.25, 0.98, 1.0] {
                let rule = Rule {
                    delay,
                    share: Share::new(share),
                };
                stored.store(Some(rule));
                assert_eq!(stored.load(), Some(rule));
            }
        }
        stored.store(None);
        assert_eq!(stored.load(), None);
    }

    #[test]
    fn a_share_contains_as_many_of_all_numbers() {
        assert!(Share::ALL.contains(u64::MAX));
        assert_eq!(Share::new(1.0), Share::ALL);
        let half = Share::new(0.5);
        assert_eq!(half.get(), 0.5);
        assert!(half.contains(u64::MAX / 2));
        assert!(!half.contains(u64::MAX / 2 + 1));
        let least = Share::new(0.0);
        assert!(least.contains(0));
        assert!(!least.contains(1 << 43));
    }
}
