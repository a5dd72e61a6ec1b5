//! Random bodies: chunks, stalls, errors, readers, overwritten objects, ranges, conditions and
//! options are drawn independently, in virtual time. `PROPTEST_CASES` sets their number.
//!
//! The reader checks each poll against rules that know nothing of the code: which bytes it gets,
//! when a continuation must be requested and when it must not, and that no wake is lost.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod case;
mod reader;
mod rules;
mod script;
mod store;

use std::env;

use fastrand::Rng;

use self::{case::Case, reader::Reader};

/// How often something happened.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Cases with a continuation.
    hedged: u32,
    continuations: u32,
    /// Continuations that had the next byte.
    won: u32,
    /// Continuations that were answered with another version, or not at all because of it.
    other_version: u32,
    /// Stalls that the budget left alone.
    unpaid: u32,
    /// Cases with two continuations at once.
    concurrent: u32,
    /// Bodies that failed while a continuation was running.
    taken_over: u32,
    ended: u32,
    failed: u32,
    hung: u32,
    /// Cases in which the reader stayed away for longer than the delay.
    slow_readers: u32,
}

fn cases() -> u32 {
    let cases = env::var("PROPTEST_CASES");
    cases.map_or(6_000, |it| it.parse().unwrap())
}

#[test]
fn random_bodies_are_those_of_one_version() {
    let seed = env::var("BODY_SEED").ok().map(|it| it.parse().unwrap());
    let seeds = match seed {
        Some(seed) => seed..seed + 1,
        None => 0..u64::from(cases()),
    };
    let (mut tally, is_one) = (Tally::default(), seed.is_some());
    for seed in seeds {
        let case = Case::draw(&mut Rng::with_seed(seed));
        let repeat = Repeat(seed);
        if is_one {
            println!("{case:#?}");
        }
        Reader::new(&case).run(&mut tally);
        std::mem::forget(repeat);
    }
    println!("{tally:?}");
    if is_one {
        return;
    }
    let few = cases() / 2_000;
    let Tally {
        hedged,
        continuations,
        won,
        other_version,
        unpaid,
        concurrent,
        taken_over,
        ended,
        failed,
        hung,
        slow_readers,
    } = tally;
    let all = [
        hedged,
        continuations,
        won,
        other_version,
        unpaid,
        concurrent,
        taken_over,
        ended,
        failed,
        hung,
        slow_readers,
    ];
    assert!(all.iter().all(|it| *it > few), "some happen too seldom");
}

/// Prints what repeats the case that fails.
struct Repeat(u64);

impl Drop for Repeat {
    fn drop(&mut self) {
        println!("it fails with BODY_SEED={}", self.0);
    }
}
