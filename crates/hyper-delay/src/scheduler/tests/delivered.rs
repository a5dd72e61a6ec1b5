use std::sync::Arc;

use crate::{protocol::Named, scheduler::ConsumerId};

/// A delivery that was sent.
#[derive(Debug, Clone)]
pub(super) struct Delivered {
    pub(super) consumer: ConsumerId,
    pub(super) route: Arc<str>,
    pub(super) id: Arc<str>,
    pub(super) attempt: u32,
    pub(super) seq: u64,
    /// Unix milliseconds.
    pub(super) at: u64,
}

impl Delivered {
    pub(super) fn named(&self) -> Named {
        Named {
            id: self.id.clone(),
            route: Some(self.route.clone()),
            attempt: Some(self.attempt),
        }
    }
}
