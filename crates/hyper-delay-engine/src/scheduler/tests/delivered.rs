use std::sync::Arc;

use race_wheel::Tick;

use crate::ledger::LedgerView;
use crate::scheduler::{ConsumerId, DeliveryName};
use hyper_delay_protocol::TaskRequest;
use hyper_delay_store::{
    ReadStore as _, Space,
    fake::Fake,
    record::{self, Task},
};

/// A delivery that was sent.
#[derive(Debug, Clone)]
pub(super) struct Delivered {
    pub(super) consumer: ConsumerId,
    pub(super) route: Arc<str>,
    pub(super) id: Arc<str>,
    pub(super) attempt: u32,
    pub(super) seq: u64,
    /// The end of its time to answer, unless that is extended.
    pub(super) until: Tick,
    /// Unix milliseconds.
    pub(super) at: u64,
}

impl Delivered {
    /// Asserts that the task has not expired, and that it is due on disk at the time `due` of the
    /// delivery.
    pub(super) fn check_stored(&self, due: u64, store: &Arc<Fake>) {
        let Self { id, seq, .. } = self;
        let content = store.get(Space::Tasks, &record::key::task(*seq)).unwrap();
        if let Some(content) = content {
            let task: Task<'_> = record::decode(&content).unwrap();
            let expires_at = task.terms.and_then(|terms| terms.expires_at);
            assert!(expires_at.is_none_or(|at| self.at < at), "{id} has expired");
        }
        let name = LedgerView::new(store.clone()).name(&self.route, id);
        if let Some(name) = name.unwrap().filter(|name| name.seq == *seq) {
            assert_eq!(due, name.place.at(), "{id} was due then");
        }
    }

    /// Returns an ack whose reply is asked for.
    pub(super) fn ack(&self) -> TaskRequest {
        TaskRequest::Ack {
            delivery: self.name().into(),
            confirm: true,
        }
    }

    pub(super) fn nack(&self, delay_ms: Option<u64>, failed: bool) -> TaskRequest {
        TaskRequest::Nack {
            delivery: self.name().into(),
            delay_ms,
            reason: Some("no disk".into()),
            failed,
        }
    }

    pub(super) fn touch(&self, extend_ms: Option<u64>) -> TaskRequest {
        TaskRequest::Touch {
            delivery: self.name().into(),
            extend_ms,
        }
    }

    pub(super) fn name(&self) -> DeliveryName {
        DeliveryName {
            route: self.route.clone(),
            id: self.id.clone(),
            attempt: self.attempt,
        }
    }
}
