use std::sync::Arc;

use race_wheel::Tick;

use crate::scheduler::ConsumerId;
use hyper_delay_protocol::{DeliverySelector, TaskRequest};

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
    /// Returns an ack whose reply is asked for.
    pub(super) fn ack(&self) -> TaskRequest {
        TaskRequest::Ack {
            delivery: self.named(),
            confirm: true,
        }
    }

    pub(super) fn nack(&self, delay_ms: Option<u64>, failed: bool) -> TaskRequest {
        TaskRequest::Nack {
            delivery: self.named(),
            delay_ms,
            reason: Some("no disk".into()),
            failed,
        }
    }

    pub(super) fn touch(&self, extend_ms: Option<u64>) -> TaskRequest {
        TaskRequest::Touch {
            delivery: self.named(),
            extend_ms,
        }
    }

    pub(super) fn named(&self) -> DeliverySelector {
        DeliverySelector {
            id: self.id.clone(),
            route: Some(self.route.clone()),
            attempt: Some(self.attempt),
        }
    }
}
