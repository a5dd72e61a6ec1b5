//! A ledger on a fake disk, and the states of the model after each write.

use std::{collections::VecDeque, sync::Arc};

use super::{
    invariants::check_invariants,
    model::{KEEP, Model, named},
};
use crate::{
    ledger::{Ledger, LedgerView, Op, Outcome, PendingLimits, ScheduleOrder, TaskRevision},
    sizes::Sizes,
};
use hyper_delay_protocol::{Compression, FailureKind, Headers, LastFailure, Terms};
use hyper_delay_store::{Batch, Durability, Store as _, fake::Fake};

pub(super) struct World {
    pub(super) store: Arc<Fake>,
    ledger: Ledger<Fake>,
    pub(super) model: Model,
    pub(super) now: u64,
    /// Batches that are not committed yet, and the model after each.
    taken: VecDeque<(Batch, Model)>,
    is_batch_empty: bool,
    /// The number of committed batches.
    committed: u64,
    /// The model at the last sync, and after each write since then.
    since_sync: Vec<Model>,
}

impl World {
    pub(super) fn new() -> Self {
        Self::over(Fake::default(), Model::default(), 10_000)
    }

    fn over(store: Fake, model: Model, now: u64) -> Self {
        let store = Arc::new(store);
        Self {
            ledger: Ledger::open(store.clone(), KEEP, Sizes::SMALL).unwrap(),
            store,
            taken: VecDeque::new(),
            is_batch_empty: true,
            committed: 0,
            since_sync: vec![model.clone()],
            model,
            now,
        }
    }

    pub(super) fn apply(&mut self, op: &Op) -> Outcome {
        let outcome = self.ledger.apply(op, self.now).unwrap();
        self.model.apply(op, self.now, outcome.clone());
        self.is_batch_empty = false;
        outcome
    }

    pub(super) fn over_quota(
        &mut self,
        order: &ScheduleOrder,
        most: &PendingLimits,
    ) -> Option<Outcome> {
        self.ledger.quota_refusal(order, most, self.now).unwrap()
    }

    pub(super) fn commit(&mut self, durability: Durability) {
        self.take();
        while !self.taken.is_empty() {
            self.commit_oldest(durability);
        }
    }

    /// Takes the current batch, which is committed later.
    pub(super) fn take(&mut self) {
        self.ledger.forget_expired(self.now).unwrap();
        let batch = self.ledger.take_batch().unwrap();
        self.taken.push_back((batch, self.model.clone()));
        self.is_batch_empty = true;
    }

    /// Continues the batch that was taken last, if none has begun since.
    pub(super) fn resume(&mut self) {
        if self.is_batch_empty
            && let Some((batch, _)) = self.taken.pop_back()
        {
            self.ledger.reopen_batch(batch);
            self.is_batch_empty = false;
        }
    }

    /// Commits the batch that was taken first, if there is one.
    pub(super) fn commit_oldest(&mut self, durability: Durability) {
        let Some((batch, model)) = self.taken.pop_front() else {
            return;
        };
        if !batch.is_empty() {
            self.store.commit(batch, durability).unwrap();
        }
        self.committed += 1;
        self.ledger.committed(self.committed);
        assert_eq!(check_invariants(&self.store), model.tasks);
        self.check_jobs(&model);
        match durability {
            Durability::Synced if self.store.unsynced() == 0 => self.since_sync = vec![model],
            _ => {
                // Writes before the last one clear generations of the deduplication window, which
                // changes no task.
                let last = self.store.unsynced();
                let before = self.since_sync.last().unwrap().clone();
                self.since_sync.resize(last.max(1), before);
                if last > 0 {
                    self.since_sync.push(model);
                }
            }
        }
    }

    /// Each task that a bulk operation has moved is counted once.
    fn check_jobs(&self, model: &Model) {
        let jobs = LedgerView::new(self.store.clone()).jobs().unwrap();
        for (id, job) in jobs {
            if let Some((_, _, moved)) = model.moving.get(&id) {
                assert_eq!(job.changed, *moved, "{job:?}");
            }
        }
    }

    /// Returns the world after a power loss that keeps the first `more` unsynced writes.
    pub(super) fn after_power_loss(&self, more: usize) -> Self {
        let store = self.store.power_loss(more);
        // A generation may have been cleared for a batch that is not committed.
        let model = self.since_sync[more.min(self.since_sync.len() - 1)].clone();
        assert_eq!(
            check_invariants(&store),
            model.tasks,
            "with {more} unsynced writes"
        );
        Self::over(store, model, self.now)
    }

    /// Checks every possible power loss, and that the ledger works after each.
    pub(super) fn survives_every_power_loss(&self) {
        for more in 0..=self.store.unsynced() {
            let mut after = self.after_power_loss(more);
            for id in ["a", "b", "new"] {
                after.apply(&schedule("r", id, 77_777, b"after the loss", true));
            }
            after.commit(Durability::Synced);
            after.after_power_loss(0);
        }
    }

    /// Returns the current revision of a task, or one that does not exist.
    pub(super) fn revision(&self, route: &str, id: &str) -> TaskRevision {
        let task = self.model.tasks.get(&named(route, id));
        TaskRevision {
            route: route.into(),
            id: id.into(),
            seq: task.map_or(0, |task| task.seq),
            attempt: task.map_or(1, |task| task.attempt + 1),
        }
    }
}

pub(super) fn schedule(route: &str, id: &str, at: u64, payload: &[u8], replace: bool) -> Op {
    Op::Schedule(ScheduleOrder {
        route: route.into(),
        id: id.into(),
        named: true,
        at,
        fire_at: at,
        delay_ms: None,
        compression: Compression::None,
        payload: payload.into(),
        replace,
        headers: Headers::default(),
        terms: None,
    })
}

/// A schedule of a task that expires, with headers.
pub(super) fn expiring(id: &str, at: u64, expires_at: u64, replace: bool) -> Op {
    let mut op = schedule("r", id, at, b"it expires", replace);
    if let Op::Schedule(order) = &mut op {
        order.headers = Headers::of_text(r#"{"a":"b"}"#);
        order.terms = Some(Box::new(Terms {
            expires_at: Some(expires_at),
            max_attempts: Some(3),
            ..Terms::default()
        }));
    }
    op
}

/// The failure of a round that a nack ended.
pub(super) fn failure(at: u64, reason: Option<&str>) -> Box<LastFailure> {
    Box::new(LastFailure {
        at,
        kind: FailureKind::Nack,
        reason: reason.map(Arc::from),
    })
}
