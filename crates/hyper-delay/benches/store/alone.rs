//! The store alone: group commits through the ledger, compared with raw writes and syncs of the
//! same number of bytes.

use std::time::{Duration, Instant};

use hyper_delay::internals::GroupCommits;

use crate::{Failure, median::median, raw::Raw, written::written};

/// Schedules per commit, and the target for commit time / raw write time: the ratio of fjall alone,
/// measured before.
const BATCHES: [(usize, f64); 3] = [(1, 1.0), (64, 1.14), (1024, 1.4)];
const ROUNDS: usize = 7;
const SLICE: Duration = Duration::from_millis(250);
const PAYLOAD: usize = 100;

pub(crate) fn run() -> Result<(), Failure> {
    println!("## The store alone\n");
    println!(
        "Time of a commit with payloads of {PAYLOAD} bytes, and of a raw write and fdatasync of \
         the same number of bytes. Medians of {ROUNDS} rounds.\n"
    );
    println!(
        "| schedules | bytes | raw, µs | store, µs | ratio | target: earlier ratio of fjall alone |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for (batch, before) in BATCHES {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut commits = Commits::open(directory.path(), batch)?;
        // The first commits give the number of bytes of a raw write.
        let (before_bytes, count) = (written()?, 100);
        for _ in 0..count {
            commits.commit()?;
        }
        let bytes = usize::try_from((written()? - before_bytes) / count)?;
        let mut raw = Raw::new(directory.path(), "raw", bytes)?;
        let (mut raws, mut stores, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let raw_seconds = raw.run(SLICE)?;
            let store_seconds = commits.run(SLICE)?;
            raws.push(raw_seconds * 1e6);
            stores.push(store_seconds * 1e6);
            ratios.push(store_seconds / raw_seconds);
        }
        println!(
            "| {batch} | {bytes} | {:.0} | {:.0} | **{:.2}** | {before} |",
            median(raws),
            median(stores),
            median(ratios)
        );
    }
    println!();
    Ok(())
}

/// Commits batches of schedules, one after another.
struct Commits {
    store: GroupCommits,
    batch: usize,
    next: u64,
}

impl Commits {
    fn open(directory: &std::path::Path, batch: usize) -> Result<Self, Failure> {
        Ok(Self {
            store: GroupCommits::open(&directory.join("db"))?,
            batch,
            next: 0,
        })
    }

    fn commit(&mut self) -> Result<(), Failure> {
        const NOW: u64 = 1_732_616_400_000;
        for _ in 0..self.batch {
            self.next += 1;
            let due = NOW + 3_600_000 + self.next / 100;
            let id = format!("order-{:012}", self.next);
            self.store
                .schedule("service-A", &id, due, &[b'x'; PAYLOAD], NOW)?;
        }
        self.store.commit(NOW)?;
        Ok(())
    }

    /// Commits batches for `time`. Returns the seconds per commit.
    fn run(&mut self, time: Duration) -> Result<f64, Failure> {
        let begin = Instant::now();
        let mut commits = 0_u32;
        while begin.elapsed() < time {
            self.commit()?;
            commits += 1;
        }
        Ok(begin.elapsed().as_secs_f64() / f64::from(commits))
    }
}
