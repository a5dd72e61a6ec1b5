use std::sync::Arc;

use race_wheel::Tick;

use crate::scheduler::{ConsumerId, DeliveryName};
use hyper_delay_protocol::TaskRequest;

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
