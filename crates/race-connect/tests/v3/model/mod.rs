//! Random zones, networks, answers and starts, held against a model that computes everything anew
//! from its definition, for each order of what is random in the machine.

mod case;
mod definition;
mod run;
mod zone;

use proptest::test_runner::{Config, TestRunner};

/// Runs 2,000 cases, or as many as `PROPTEST_CASES` says.
#[test]
fn random_answers_and_starts_are_as_in_the_model() {
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 2_000;
    }
    config.failure_persistence = None;
    // A case is drawn from its seed, which cannot be made smaller.
    config.max_shrink_iters = 0;
    let seeds = proptest::num::u64::ANY;
    TestRunner::new(config)
        .run(&seeds, |seed| {
            run::run(seed);
            Ok(())
        })
        .unwrap();
}

/// Numbers that follow from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % end as u64) as usize
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}
