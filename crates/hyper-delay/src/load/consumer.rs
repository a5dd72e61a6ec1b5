//! Takes and acknowledges the deliveries of one connection.

use super::{
    LoadError, LoadTally,
    reply::{LoadReply, ReceivedDelivery},
    request,
    task_ids::TaskIds,
    wire::Wire,
};

/// Takes deliveries and writes their acks.
#[derive(Debug)]
pub(super) struct LoadConsumer {
    tasks: u32,
    /// Whether to request a confirmation of every ack.
    confirm: bool,
    is_delivered: Vec<bool>,
    /// The number of tasks delivered so far.
    pub(super) delivered: u32,
    /// Acks whose confirmation is pending.
    unconfirmed: u32,
}

impl LoadConsumer {
    pub(super) fn new(tasks: u32, confirm: bool) -> Self {
        Self {
            tasks,
            confirm,
            is_delivered: vec![false; tasks as usize],
            delivered: 0,
            unconfirmed: 0,
        }
    }

    /// Whether all tasks are delivered and their removals are on disk. Removals reach the disk in
    /// order, so the confirmation of the last one covers all.
    pub(super) const fn is_done(&self) -> bool {
        self.delivered == self.tasks && self.unconfirmed == 0
    }

    /// Acknowledges a delivery. Returns the number of its task if this is its first delivery.
    pub(super) fn handle(
        &mut self,
        reply: LoadReply,
        tally: &LoadTally,
        wire: &mut Wire,
        ids: &TaskIds,
    ) -> Option<u32> {
        let delivered = match reply {
            LoadReply::Delivery(delivered) => delivered,
            LoadReply::Acked => {
                self.unconfirmed -= 1;
                return None;
            }
            _ => return None,
        };
        let ReceivedDelivery { number, .. } = delivered;
        let is_delivered = self.is_delivered.get_mut(number as usize)?;
        let first = !std::mem::replace(is_delivered, true);
        if first {
            self.delivered += 1;
        } else {
            tally.count_again();
        }
        let confirm = self.confirm || self.delivered == self.tasks;
        self.unconfirmed += u32::from(confirm);
        request::ack(ids, delivered, confirm, &mut wire.out);
        first.then_some(number)
    }
}

/// Registers the route of the connection and waits for the reply.
pub(super) async fn register(wire: &mut Wire, ids: &TaskIds, credit: u32) -> Result<(), LoadError> {
    request::register(ids, credit, &mut wire.out);
    loop {
        wire.exchange().await?;
        while let Some(reply) = wire.next() {
            if reply? == LoadReply::Registered {
                return Ok(());
            }
        }
    }
}
