//! A process that is killed while it applies and syncs.

use std::{
    env,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use super::{Disk, Entries, NodeDirectory};
use crate::node::tests::disk::{CHARTER, Replica, SHARD};

const DIRECTORY: &str = "HYPER_DELAY_TEST_REPLICA";

const ENTRIES: u64 = 4_000;

#[test]
fn a_process_that_is_killed_loses_nothing_that_was_synced() {
    let entries = Entries::new(ENTRIES);
    if let Some(directory) = env::var_os(DIRECTORY) {
        return applies(directory.into(), &entries);
    }
    let disk = Disk::new();
    let mut synced = 0;
    for _ in 0..6 {
        let mut process = Process::start(&disk);
        let before = synced;
        for _ in 0..fastrand::usize(1..40) {
            let Some((begun, now)) = process.next() else {
                break;
            };
            assert!(
                begun >= before,
                "it begins at {begun}, and {before} was synced"
            );
            synced = now;
        }
        thread::sleep(Duration::from_micros(fastrand::u64(0..20_000)));
        drop(process);
        assert_eq!(disk.asides().len(), 0, "it is not damaged");
    }
    assert!(synced > 0);
    let (_directory, mut replica) = disk.open();
    assert!(replica.applied().seq >= synced);
    assert!(entries.complete(&mut replica));
}

/// What the process does: it applies entries, syncs meanwhile, and prints where it began and what
/// is synced.
fn applies(directory: PathBuf, entries: &Entries) {
    let directory = NodeDirectory::lock(&directory, CHARTER.shards).unwrap();
    let store = directory.open(SHARD.0).unwrap();
    let mut replica = Replica::open(store.into(), CHARTER, SHARD).unwrap();
    let begun = replica.applied().seq;
    let from = usize::try_from(begun).unwrap();
    let mut syncing: Option<thread::JoinHandle<()>> = None;
    for (entry, seq) in entries.entries[from..].iter().zip(begun + 1..) {
        replica
            .apply(seq, entry, hyper_delay_store::DiskSpace::UNLIMITED)
            .unwrap();
        if syncing.as_ref().is_none_or(thread::JoinHandle::is_finished) {
            let persisting = replica.prepare_sync();
            let sync = move || {
                let synced = persisting.run().unwrap();
                println!("\nsynced {begun} {synced}");
            };
            if let Some(last) = syncing.replace(thread::spawn(sync)) {
                last.join().unwrap();
            }
        }
    }
}

struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Process {
    fn start(disk: &Disk) -> Self {
        let name = "a_process_that_is_killed_loses_nothing_that_was_synced";
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--nocapture", name])
            .env(DIRECTORY, disk.root())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns where the process began, and what is synced now. `None`: it has ended.
    fn next(&mut self) -> Option<(u64, u64)> {
        let mut lines = self.lines.by_ref().map(|line| line.unwrap());
        lines.find_map(|line| {
            let (begun, synced) = line.strip_prefix("synced ")?.split_once(' ')?;
            Some((begun.parse().unwrap(), synced.parse().unwrap()))
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
