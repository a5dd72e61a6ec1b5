//! What both kinds of load with deliveries have in common: each task is acknowledged once.

use super::{
    LoadError, Tally,
    ids::Ids,
    reply::{Delivered, Reply},
    request,
    wire::Wire,
};

/// Deliveries of a connection, and their acks.
#[derive(Debug)]
pub(super) struct Taker {
    tasks: u32,
    /// Whether each ack is to be confirmed.
    confirm: bool,
    seen: Vec<bool>,
    /// How many tasks have been delivered.
    pub(super) delivered: u32,
    confirming: u32,
}

impl Taker {
    pub(super) fn new(tasks: u32, confirm: bool) -> Self {
        Self {
            tasks,
            confirm,
            seen: vec![false; tasks as usize],
            delivered: 0,
            confirming: 0,
        }
    }

    /// Whether all tasks have come, and the removal of the last, and so of all before it, is on disk.
    pub(super) const fn over(&self) -> bool {
        self.delivered == self.tasks && self.confirming == 0
    }

    /// Acknowledges what has come; the number of a task that has come for the first time.
    pub(super) fn take(
        &mut self,
        reply: Reply,
        tally: &Tally,
        wire: &mut Wire,
        ids: &Ids,
    ) -> Option<u32> {
        let delivered = match reply {
            Reply::Delivery(delivered) => delivered,
            Reply::Acked => {
                self.confirming -= 1;
                return None;
            }
            _ => return None,
        };
        let Delivered { number, .. } = delivered;
        let seen = self.seen.get_mut(number as usize)?;
        let first = !std::mem::replace(seen, true);
        if first {
            self.delivered += 1;
        } else {
            tally.came_again();
        }
        let confirm = self.confirm || self.delivered == self.tasks;
        self.confirming += u32::from(confirm);
        request::ack(ids, delivered, confirm, &mut wire.out);
        first.then_some(number)
    }
}

/// Has the connection's route delivered to it.
pub(super) async fn register(wire: &mut Wire, ids: &Ids, credit: u32) -> Result<(), LoadError> {
    request::register(ids, credit, &mut wire.out);
    loop {
        wire.turn().await?;
        while let Some(reply) = wire.next() {
            if reply? == Reply::Registered {
                return Ok(());
            }
        }
    }
}
