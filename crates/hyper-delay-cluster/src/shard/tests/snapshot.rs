//! A node that resumes with a snapshot of another one.

use tempfile::TempDir;

use super::{
    blind::{TERM, leader},
    follower::Follower,
    *,
};
use crate::{
    log::{JournalTail, LeaderAndHeartbeat, LogAnswer},
    snapshot::spool::Spool,
};
use hyper_delay_store::DiskSpace;

/// A node that is left behind, and the one that is asked for a snapshot.
struct Behind {
    follower: Follower,
    provider: Follower,
    spool: Spool,
    /// Attempts to get a snapshot.
    attempts: u64,
    _directory: TempDir,
}

impl Behind {
    /// The journal begins with the entry after those of the provider.
    fn new() -> Self {
        let (follower, mut provider) = (Follower::new(), Follower::new());
        provider.entries = follower.entries[..1].to_vec();
        assert_eq!(provider.receive_entries(), 1);
        provider.shard.prepare_sync().unwrap().run().unwrap();
        let directory = tempfile::tempdir().unwrap();
        Self {
            follower,
            provider,
            spool: Spool::create(&directory.path().join("spool")).unwrap(),
            attempts: 0,
            _directory: directory,
        }
    }

    fn last(&self) -> u64 {
        self.follower.entries.len() as u64
    }

    /// The log answers for a lease. Returns how often the journal was read.
    fn reads(&mut self, leads: &Leader) -> usize {
        let mut reads = 0;
        let last = self.last();
        for _ in 0..8 {
            let Follower {
                shard,
                now,
                entries,
                ..
            } = &mut self.follower;
            now.monotonic = now.after(LEASE / 8);
            shard.tick(*now, Some(TERM));
            let effects = shard.take_effects();
            self.attempts += u64::from(effects.fetch.is_some());
            self.spool.append(&effects.spool).unwrap();
            for (call, request) in effects.calls {
                let answer = match request {
                    LogRequest::Report { .. } => LogAnswer::Reported(true),
                    LogRequest::Reports(_) => LogAnswer::Reports(vec![("a".into(), 1)]),
                    LogRequest::Tail { from, .. } => {
                        reads += 1;
                        let entries = entries.iter().skip(1);
                        let entries = entries.filter(|(seq, _)| *seq >= from);
                        LogAnswer::Tail(JournalTail {
                            leader: Some(LeaderAndHeartbeat {
                                leader: leads.clone(),
                                heartbeat: None,
                            }),
                            first: 2,
                            last,
                            reported: Some(0),
                            entries: entries.cloned().collect(),
                        })
                    }
                    other => panic!("{other:?}"),
                };
                let event = ShardEvent::Answered(call, Ok(answer));
                shard.handle(event, *now, Some(TERM));
            }
        }
        reads
    }

    /// Returns the leadership that it knows.
    fn leads(&self) -> Option<u64> {
        let leader = self.follower.shard.leader();
        leader.map(|leader| leader.epoch)
    }

    /// The snapshot is there. The disk has this space.
    fn replaces(&mut self, disk_space: DiskSpace) {
        let Follower {
            shard, now, disk, ..
        } = &mut self.follower;
        disk.clone_from(&self.provider.disk);
        disk.set_disk_space(disk_space);
        assert!(shard.replace(self.attempts, disk.clone(), *now));
    }

    /// Applies what was spooled, as far as it goes.
    fn drains(&mut self) -> u64 {
        let Follower { shard, now, .. } = &mut self.follower;
        while shard.drain(|applied| self.spool.next(applied), *now) {}
        shard.applied()
    }
}

#[test]
fn a_node_that_spools_reads_who_leads_with_the_journal() {
    let mut behind = Behind::new();
    behind.reads(&leader("a", 30, LeaseId(5)));
    behind.reads(&leader("a", 30, LeaseId(5)));
    assert_eq!(behind.attempts, 1);
    let reads = behind.reads(&leader("c", 31, LeaseId(7)));
    assert!(reads <= 5, "{reads} in a lease");
    assert_eq!(behind.leads(), Some(31));
}

#[test]
fn spooled_entries_are_kept_until_there_is_room_for_them() {
    let mut behind = Behind::new();
    behind.reads(&leader("a", 30, LeaseId(5)));
    behind.reads(&leader("a", 30, LeaseId(5)));
    behind.replaces(DiskSpace::none());
    for _ in 0..3 {
        assert_eq!(behind.drains(), 1);
        behind.follower.pass_lease();
        assert!(behind.follower.shard.is_draining());
    }
    // The news of this are lost.
    behind.reads(&leader("c", 31, LeaseId(7)));
    assert_eq!(behind.leads(), Some(31));
    behind.follower.disk.set_disk_space(DiskSpace::UNLIMITED);
    behind.follower.pass_lease();
    assert_eq!(behind.drains(), behind.last());
    assert!(behind.follower.shard.stopped().is_none());
    assert_eq!(behind.attempts, 1);
}
