//! Counts what the scheduler has in memory.

use super::{Scheduler, task::DeliveryState};
use crate::{
    clock::Now,
    metrics::{MemoryGauges, SOON, earlier},
};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// Counts what is in memory. The time that it takes is bounded by `window_tasks` and the number
    /// of routes with consumers.
    #[must_use]
    pub fn in_memory(&self, now: Now) -> MemoryGauges {
        let now = now.wall_millis();
        let soon = now.saturating_add(SOON.as_millis() as u64);
        let unread = self.horizon.unread_from();
        let mut memory = MemoryGauges {
            now,
            connections: self.consumers.len() as u64,
            unread,
            paused: self.paused.on_disk().clone(),
            overdue: self.horizon.overdue().map(|range| (range.from, range.to)),
            ..MemoryGauges::default()
        };
        for (seq, task, state) in self.tasks.iter() {
            let row = match memory.routes.get_mut(&task.route) {
                Some(row) => row,
                None => memory.routes.entry(task.route.clone()).or_default(),
            };
            match state {
                DeliveryState::Waiting { .. } if task.at() <= soon => {
                    let position = task.position(seq);
                    match unread.is_some_and(|unread| position >= unread) {
                        true => row.soon_unread += 1,
                        false => row.soon += 1,
                    }
                }
                DeliveryState::Ready => {
                    row.ready += u64::from(!task.is_parked());
                    row.oldest_ready = earlier(row.oldest_ready, Some(task.at()));
                }
                DeliveryState::InFlight(_) => {
                    row.in_flight += 1;
                    row.in_flight_and_parked += u64::from(task.is_parked());
                }
                DeliveryState::Waiting { .. }
                | DeliveryState::Due
                | DeliveryState::Committing(_) => {}
            }
        }
        for (name, route) in self.routes.iter() {
            memory.consumers.push((name.clone(), route.len() as u64));
            match route.backlog() {
                Some(position) => drop(memory.backlogs.insert(name.clone(), position)),
                None => memory.without_backlog.push(name.clone()),
            }
        }
        memory
    }
}
