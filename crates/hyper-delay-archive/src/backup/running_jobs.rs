//! Stops bulk operations that were running when a backup was made.

use hyper_delay_store::{
    Space, SpaceRow, StoreError,
    record::{self, BulkJob, JobState, key},
};

/// Returns a row as it is restored: a bulk operation that was running when the backup was made, at
/// `made_at` in Unix milliseconds, is stopped. The tasks that it had not reached may be the reason
/// for the restore.
pub(super) fn stop(row: SpaceRow, made_at: u64) -> Result<SpaceRow, StoreError> {
    let (space, key, value) = row;
    if space != Space::Meta || !key.starts_with(key::JOBS) {
        return Ok((space, key, value));
    }
    let job: BulkJob = record::decode(&value)?;
    if job.state != JobState::Running {
        return Ok((space, key, value));
    }
    let job = BulkJob {
        state: JobState::Stopped,
        ended_at: made_at,
        ..job
    };
    Ok((space, key, record::encode(&job)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        super::{BackupStream, restore},
        *,
    };
    use hyper_delay_engine::{
        ledger::{Actor, BulkAdvance, Ledger, LedgerView, NewBulkJob, Op, Outcome},
        sizes::Sizes,
    };
    use hyper_delay_fjall::{Embedded, OpenOptions};
    use hyper_delay_protocol::{BulkAct, BulkMove, BulkMoveTo, Filter};
    use hyper_delay_store::{Durability, ReadStore as _, fake::Fake};

    fn begin(ledger: &mut Ledger<Fake>, act: BulkAct) -> u64 {
        let bulk = NewBulkJob {
            act,
            route: "route".into(),
            filter: Filter::default(),
            in_flight: false,
            at: 7,
            actor: Actor::default(),
        };
        match ledger.apply(&Op::BeginBulk(Box::new(bulk)), 7).unwrap() {
            Outcome::BulkBegun(job) => job,
            outcome => panic!("{outcome:?}"),
        }
    }

    #[test]
    fn bulk_operation_that_was_running_is_stopped_by_a_restore() {
        let store = Arc::new(Fake::default());
        let mut ledger = Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap();
        let done = begin(&mut ledger, BulkAct::Purge);
        let (to, state) = (BulkMoveTo::At(99), None);
        let moves = BulkAct::Move(BulkMove { to, state });
        let running = begin(&mut ledger, moves);
        let end = BulkAdvance {
            job: done,
            cursor: Box::default(),
            state: JobState::Done,
            at: 8,
            actor: Actor::default(),
        };
        ledger.apply(&Op::AdvanceBulk(Box::new(end)), 8).unwrap();
        ledger.commit(Durability::Synced, 8).unwrap();
        let mut stream = BackupStream::begin(store.snapshot().unwrap(), 9);
        let backup = stream.next(1 << 20).unwrap();

        let directory = tempfile::tempdir().unwrap();
        restore(&backup[..], None, "backup", directory.path()).unwrap();
        let restored = Embedded::open_with(directory.path(), OpenOptions::default()).unwrap();
        let restored = Arc::new(restored);
        let jobs = LedgerView::new(restored.clone()).jobs().unwrap();
        let acts: Vec<_> = jobs.iter().map(|(_, job)| job.act()).collect();
        assert_eq!(acts, [BulkAct::Purge, moves]);
        let ends = jobs.iter().map(|(id, job)| (*id, job.state, job.ended_at));
        let mut ends: Vec<_> = ends.collect();
        ends.sort_by_key(|(id, _, _)| *id);
        let expected = [(done, JobState::Done, 8), (running, JobState::Stopped, 9)];
        assert_eq!(ends, expected);
        let ledger = Ledger::open(restored, 0, Sizes::SMALL).unwrap();
        assert_eq!(ledger.running_jobs().count(), 0);
    }
}
