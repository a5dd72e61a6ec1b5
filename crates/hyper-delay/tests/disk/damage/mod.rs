//! One fault at a time in each kind of file of a stopped store: no task is lost without a word.
//!
//! Default: a few faults over all kinds of files. `HYPER_DELAY_FAULTS=all` draws 200 flipped bits,
//! 50 cuts and deletions for each kind of file, a number draws that many flips; `HYPER_DELAY_SEED`
//! repeats a run.

mod exchange;
mod fault;
mod fixture;
mod judge;
mod salvage;

use std::{collections::BTreeMap, env, iter, path::PathBuf};

use fastrand::Rng;
use tempfile::TempDir;

use fault::{Case, Draw, Fault};
pub(crate) use fixture::fields;
use fixture::{Fixture, Stop};
use judge::{Verdict, judge};
use salvage::salvage;

/// A directory for stores that are copied many times. Syncs cost nothing in memory.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// Faults of a run by default.
const FEW: usize = 5;

fn draw() -> Draw {
    let flips = match env::var("HYPER_DELAY_FAULTS") {
        Ok(all) if all == "all" => 200,
        Ok(number) => number.parse().expect("a number, or \"all\""),
        Err(_) => 1,
    };
    Draw {
        flips,
        cuts: flips.div_ceil(4),
        deletions: flips.div_ceil(50),
    }
}

fn random() -> Rng {
    let seed = env::var("HYPER_DELAY_SEED").map_or_else(
        |_| fastrand::u64(..),
        |seed| seed.parse().expect("a whole number"),
    );
    println!("HYPER_DELAY_SEED={seed}");
    Rng::with_seed(seed)
}

/// Verdicts by kind of file.
#[derive(Debug, Default)]
struct Tally(BTreeMap<String, BTreeMap<&'static str, usize>>);

impl Tally {
    fn add(&mut self, case: &Case, verdict: &Verdict) {
        let fault = match case.fault {
            Fault::None => "nothing",
            Fault::Flip(_) => "flip",
            Fault::Cut(_) => "cut",
            Fault::Delete => "deletion",
        };
        let verdicts = self.0.entry(format!("{}, {fault}", case.kind)).or_default();
        *verdicts.entry(verdict.name()).or_default() += 1;
    }

    fn print(&self) {
        for (kind, verdicts) in &self.0 {
            println!("{kind}: {verdicts:?}");
        }
    }
}

/// Starts a server over a copy of the store for each fault, and repairs another copy.
fn damage(stop: Stop) {
    let mut random = random();
    let mut tally = Tally::default();
    let mut faults = Vec::new();
    let mut unsaved = Vec::new();
    let flushes = if env::var_os("HYPER_DELAY_FAULTS").is_some() {
        2
    } else {
        1
    };
    let fixture = Fixture::new(stop, flushes);
    let files = fixture.files();
    let whole = Case {
        file: PathBuf::new(),
        kind: "an undamaged copy".to_owned(),
        fault: Fault::None,
    };
    let mut cases = files.cases(draw(), &mut random);
    if env::var_os("HYPER_DELAY_FAULTS").is_none() {
        random.shuffle(&mut cases);
        cases.truncate(FEW);
    }
    let count = cases.len();
    for (number, case) in iter::once(whole).chain(cases).enumerate() {
        if number % 500 == 499 {
            println!("{stop:?}: {number} of {count} faults");
        }
        let copy = files.copy(&case);
        let verdict = judge(copy.path(), &fixture.expected);
        tally.add(&case, &verdict);
        let is_fault = match case.fault {
            Fault::None => verdict != Verdict::Whole,
            _ => verdict.is_fault(),
        };
        if is_fault {
            println!("{case:?}: {verdict:?}");
            faults.push((case.clone(), verdict));
        }
        let copy = files.copy(&case);
        if let Some(what) = salvage(copy.path(), &case, &fixture.expected) {
            println!("{case:?}: {what}");
            unsaved.push((case, what));
        }
    }
    tally.print();
    let few = |count: usize| count.min(20);
    assert!(
        unsaved.is_empty() && faults.is_empty(),
        "{} repairs: {:#?}\n{} faults: {:#?}",
        unsaved.len(),
        &unsaved[..few(unsaved.len())],
        faults.len(),
        &faults[..few(faults.len())],
    );
}

#[test]
fn damage_after_sigterm_loses_no_task_without_a_word() {
    damage(Stop::Term);
}

#[test]
fn damage_after_sigkill_loses_no_task_without_a_word() {
    damage(Stop::Kill);
}
