//! Bulk operations in backups.

use hyper_delay_store::{
    Space, SpaceRow, StoreError,
    record::{self, Job, Progress, key},
};

/// Returns a row as it is restored: a bulk operation that was running when the backup was made, at
/// `made_at` in Unix milliseconds, is stopped. What it has not reached may be what the restore is
/// for.
pub(super) fn stopped(row: SpaceRow, made_at: u64) -> Result<SpaceRow, StoreError> {
    let (space, key, value) = row;
    if space != Space::Meta || !key.starts_with(key::JOBS) {
        return Ok((space, key, value));
    }
    let job: Job = record::decode(&value)?;
    if job.state != Progress::Running {
        return Ok((space, key, value));
    }
    let job = Job {
        state: Progress::Stopped,
        ended_at: made_at,
        ..job
    };
    Ok((space, key, record::encode(&job)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        super::{Stream, restore},
        *,
    };
    use hyper_delay_engine::{
        ledger::{Actor, Advance, Bulk, Ledger, Op, Outcome, View},
        sizes::Sizes,
    };
    use hyper_delay_fjall::{Embedded, OpenOptions};
    use hyper_delay_protocol::Filter;
    use hyper_delay_store::{Durability, ReadStore as _, fake::Fake, record::Act};

    fn begin(ledger: &mut Ledger<Fake>) -> u64 {
        let bulk = Bulk {
            act: Act::Purge,
            route: "route".into(),
            filter: Filter::default(),
            in_flight: false,
            at: 7,
            actor: Actor::default(),
        };
        match ledger.apply(&Op::Begin(Box::new(bulk)), 7).unwrap() {
            Outcome::Began(job) => job,
            outcome => panic!("{outcome:?}"),
        }
    }

    #[test]
    fn bulk_operation_that_was_running_is_stopped_by_a_restore() {
        let store = Arc::new(Fake::default());
        let mut ledger = Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap();
        let (done, running) = (begin(&mut ledger), begin(&mut ledger));
        let end = Advance {
            job: done,
            cursor: Box::default(),
            state: Progress::Done,
            at: 8,
            actor: Actor::default(),
        };
        ledger.apply(&Op::Advance(Box::new(end)), 8).unwrap();
        ledger.commit(Durability::Synced, 8).unwrap();
        let mut stream = Stream::begin(store.snapshot().unwrap(), 9);
        let backup = stream.next(1 << 20).unwrap();

        let directory = tempfile::tempdir().unwrap();
        restore(&backup[..], None, "backup", directory.path()).unwrap();
        let restored = Embedded::open_with(directory.path(), OpenOptions::default()).unwrap();
        let restored = Arc::new(restored);
        let jobs = View::new(restored.clone()).jobs().unwrap();
        let ends = jobs.iter().map(|(id, job)| (*id, job.state, job.ended_at));
        let mut ends: Vec<_> = ends.collect();
        ends.sort_by_key(|(id, _, _)| *id);
        let expected = [(done, Progress::Done, 8), (running, Progress::Stopped, 9)];
        assert_eq!(ends, expected);
        let ledger = Ledger::open(restored, 0, Sizes::SMALL).unwrap();
        assert_eq!(ledger.running_jobs().count(), 0);
    }
}
