//! Tasks on disk, without a scheduler.

use std::sync::Arc;

use crate::{
    ledger::{Ledger, LedgerView, Op, Outcome, ScheduleOrder},
    sizes::Sizes,
};
use hyper_delay_protocol::{Compression, Headers, Terms};
use hyper_delay_store::{Durability, fake::Fake};

#[derive(Debug)]
pub(in crate::scheduler) struct StoredTasks {
    store: Arc<Fake>,
    ledger: Ledger<Fake>,
}

impl StoredTasks {
    pub(in crate::scheduler) fn new() -> Self {
        let store = Arc::new(Fake::default());
        let ledger = Ledger::open(store.clone(), 1_000, Sizes::SMALL).unwrap();
        Self { store, ledger }
    }

    /// Schedules a task of the route "route". Returns its revision.
    pub(in crate::scheduler) fn schedule(&mut self, id: &str, at: u64, terms: Terms) -> u64 {
        let order = ScheduleOrder {
            route: "route".into(),
            id: id.into(),
            named: true,
            at,
            fire_at: at,
            delay_ms: None,
            compression: Compression::None,
            payload: Box::default(),
            replace: false,
            headers: Headers::default(),
            terms: Some(Box::new(terms)),
        };
        match self.apply(&Op::Schedule(order)) {
            Outcome::Scheduled { seq, .. } => seq,
            outcome => panic!("{outcome:?}"),
        }
    }

    pub(in crate::scheduler) fn apply(&mut self, op: &Op) -> Outcome {
        let outcome = self.ledger.apply(op, 0).unwrap();
        self.ledger.commit(Durability::Synced, 0).unwrap();
        outcome
    }

    pub(in crate::scheduler) fn view(&self) -> LedgerView<Fake> {
        LedgerView::new(self.store.clone())
    }
}
