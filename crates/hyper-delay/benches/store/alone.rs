//! The store alone: group commits through the ledger, beside writes and syncs of as many bytes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use hyper_delay::{
    ledger::{Ledger, Op, Order},
    protocol::Compression,
    store::{Durability, Embedded},
};

use crate::{Failure, median::median, raw::Raw, written::written};

/// Schedules in a commit, and how long a commit may take beside a raw write, as targets have it.
const BATCHES: [(usize, f64); 3] = [(1, 1.0), (64, 1.14), (1024, 1.4)];
const ROUNDS: usize = 7;
const SLICE: Duration = Duration::from_millis(250);
const PAYLOAD: usize = 100;

pub(crate) fn run() -> Result<(), Failure> {
    println!("## The store alone\n");
    println!(
        "A commit of so many schedules with payloads of {PAYLOAD} bytes, and a write and fdatasync of as many bytes.\n"
    );
    println!(
        "| schedules | bytes | raw, us | store, us | ratio | fjall itself, by an earlier count |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for (batch, before) in BATCHES {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut commits = Commits::open(directory.path(), batch)?;
        // The first are the measure of the rest.
        let (from, times) = (written()?, 100);
        for _ in 0..times {
            commits.commit()?;
        }
        let bytes = usize::try_from((written()? - from) / times)?;
        let mut raw = Raw::new(directory.path(), "raw", bytes)?;
        let (mut raws, mut stores, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let of_raw = raw.run(SLICE)?;
            let of_store = commits.run(SLICE)?;
            raws.push(of_raw * 1e6);
            stores.push(of_store * 1e6);
            ratios.push(of_store / of_raw);
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

/// Schedules, a batch after the other.
struct Commits {
    ledger: Ledger<Embedded>,
    batch: usize,
    next: u64,
}

impl Commits {
    fn open(directory: &std::path::Path, batch: usize) -> Result<Self, Failure> {
        const REMEMBERED: u64 = 300_000;
        let store = Arc::new(Embedded::open(&directory.join("db"))?);
        Ok(Self {
            ledger: Ledger::open(store, REMEMBERED)?,
            batch,
            next: 0,
        })
    }

    fn commit(&mut self) -> Result<(), Failure> {
        const NOW: u64 = 1_732_616_400_000;
        for _ in 0..self.batch {
            self.next += 1;
            let due = NOW + 3_600_000 + self.next / 100;
            let order = Order {
                route: "service-A".into(),
                id: format!("order-{:012}", self.next).into(),
                named: true,
                at: due,
                fire_at: due,
                compression: Compression::None,
                payload: vec![b'x'; PAYLOAD].into(),
                replace: false,
            };
            self.ledger.apply(&Op::Schedule(order), NOW)?;
        }
        self.ledger.commit(Durability::Synced, NOW)?;
        Ok(())
    }

    /// Commits for so long; seconds for each.
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
