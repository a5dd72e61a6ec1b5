use std::{collections::BTreeSet, ops::ControlFlow, sync::Arc};

use super::{ConsumerId, settings::RouteSettings};
use crate::ledger::{LedgerView, ListedTask, Position};
use hyper_delay_store::{Store, StoreError};

/// The maximum number of parked tasks that one read returns.
const PARKED: usize = 512;

/// A route that has consumers.
#[derive(Debug)]
pub(super) struct Route {
    /// In the order of registration. Never empty: the last consumer removes the route.
    consumers: Vec<ConsumerId>,
    /// The index at which the search for a consumer starts. It rotates, so that equal consumers
    /// take turns.
    start: usize,
    /// Whether the only consumer has an exclusive registration.
    is_exclusive: bool,
    /// Tasks that are due and wait for a consumer to have room.
    ready: BTreeSet<Position>,
    /// The position from which on there may be more parked on disk.
    backlog: Option<Position>,
    settings: RouteSettings,
}

/// The consumers that a route has left when one leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemainingConsumers {
    /// The connection was not a consumer of the route.
    Unknown,
    /// The route has other consumers.
    OthersStay,
    /// It was the last one.
    Last,
}

impl Route {
    /// A route that had no consumer: what is parked for it is not known.
    pub(super) const fn new(settings: RouteSettings) -> Self {
        Self {
            consumers: Vec::new(),
            start: 0,
            is_exclusive: false,
            ready: BTreeSet::new(),
            backlog: Some(Position::start_of(0)),
            settings,
        }
    }

    pub(super) const fn settings(&self) -> RouteSettings {
        self.settings
    }

    pub(super) const fn set_settings(&mut self, settings: RouteSettings) {
        self.settings = settings;
    }

    /// The number of consumers.
    pub(super) const fn len(&self) -> usize {
        self.consumers.len()
    }

    /// Registers a consumer. Returns those that lose the route for that, and whether the consumer
    /// is new to it.
    pub(super) fn register(
        &mut self,
        consumer: ConsumerId,
        exclusive: bool,
    ) -> (Vec<ConsumerId>, bool) {
        let losers = if exclusive || self.is_exclusive {
            let others = self.consumers.extract_if(.., |other| *other != consumer);
            others.collect()
        } else {
            Vec::new()
        };
        self.is_exclusive = exclusive;
        let is_new = !self.consumers.contains(&consumer);
        if is_new {
            self.consumers.push(consumer);
        }
        (losers, is_new)
    }

    /// Removes a consumer.
    pub(super) fn unregister(&mut self, consumer: ConsumerId) -> RemainingConsumers {
        let place = self.consumers.iter().position(|other| *other == consumer);
        let Some(place) = place else {
            return RemainingConsumers::Unknown;
        };
        self.consumers.remove(place);
        match self.consumers.is_empty() {
            true => RemainingConsumers::Last,
            false => RemainingConsumers::OthersStay,
        }
    }

    /// The consumers, each once, from the one whose turn it is.
    pub(super) fn in_rotation(&self) -> impl Iterator<Item = ConsumerId> {
        let start = self.start % self.consumers.len().max(1);
        let (before, from) = self.consumers.split_at(start);
        from.iter().chain(before).copied()
    }

    /// The consumer at `offset` of [`in_rotation`](Self::in_rotation) received a task: the turn passes to
    /// the one after it.
    pub(super) const fn advance_rotation(&mut self, offset: usize) {
        let served = self.start % self.consumers.len() + offset;
        self.start = served + 1;
    }

    /// All consumers.
    pub(super) fn consumers(&self) -> &[ConsumerId] {
        &self.consumers
    }

    /// Whether a due task may be queued: `limit` tasks may be, and what is parked comes first.
    pub(super) fn may_queue(&self, limit: usize) -> bool {
        self.backlog.is_none() && self.ready.len() < limit
    }

    /// The number of queued tasks.
    pub(super) fn queued(&self) -> usize {
        self.ready.len()
    }

    pub(super) fn queue(&mut self, position: Position) {
        self.ready.insert(position);
    }

    pub(super) fn unqueue(&mut self, position: Position) {
        self.ready.remove(&position);
    }

    /// The first queued task from a position on.
    pub(super) fn first_ready(&self, from: Position) -> Option<Position> {
        self.ready.range(from..).next().copied()
    }

    /// Whether something waits for a consumer to have room.
    pub(super) fn has_work(&self) -> bool {
        !self.ready.is_empty() || self.backlog.is_some()
    }

    /// The position from which on there may be more parked on disk.
    pub(super) const fn backlog(&self) -> Option<Position> {
        self.backlog
    }

    /// Whether to read parked tasks: at most half of the `limit` tasks are queued.
    pub(super) fn wants_parked(&self, limit: usize) -> bool {
        self.backlog.is_some() && self.queued() <= limit / 2
    }

    /// Returns where to read parked tasks, and how many of them at most. A route with an empty queue
    /// gets one even if there is no room in memory.
    fn parked_to_read(&self, limit: usize, room: usize) -> Option<(Position, usize)> {
        let from = self.backlog.filter(|_| self.wants_parked(limit))?;
        let least = usize::from(self.ready.is_empty());
        let most = (limit - self.queued()).min(PARKED).min(room.max(least));
        (most > 0).then_some((from, most))
    }

    /// Reads parked tasks of this route, whose name is `name`, if there is room for them: `limit` tasks
    /// may be queued, and there is `room` for as many in memory. `None` if there is no room.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(super) fn read_parked(
        &mut self,
        name: &Arc<str>,
        view: &LedgerView<impl Store>,
        limit: usize,
        room: usize,
    ) -> Result<Option<Vec<ListedTask>>, StoreError> {
        let Some((from, most)) = self.parked_to_read(limit, room) else {
            return Ok(None);
        };
        let mut found = Vec::new();
        view.parked(name, from, |listed| {
            found.push(listed);
            match found.len() < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        let last = found.last().filter(|_| found.len() == most);
        self.set_backlog(last.map(|last| last.position.next()));
        Ok(Some(found))
    }

    /// The parked tasks up to `backlog` were read.
    pub(super) const fn set_backlog(&mut self, backlog: Option<Position>) {
        self.backlog = backlog;
    }

    /// A task was parked.
    pub(super) fn note_parked(&mut self, position: Position) {
        let first = |backlog: Position| backlog.min(position);
        self.backlog = Some(self.backlog.map_or(position, first));
    }

    /// Takes the queued tasks.
    pub(super) fn take_ready(&mut self) -> BTreeSet<Position> {
        std::mem::take(&mut self.ready)
    }

    /// Returns the queued tasks of a route that is removed.
    pub(super) fn into_ready(self) -> impl Iterator<Item = Position> {
        self.ready.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ledger::{Op, Outcome, TaskRevision},
        scheduler::tests::stored_tasks::StoredTasks,
    };
    use hyper_delay_protocol::Terms;

    fn route(consumers: &[ConsumerId]) -> Route {
        let mut route = Route::new(RouteSettings::default());
        for consumer in consumers {
            route.register(*consumer, false);
        }
        route
    }

    #[test]
    fn the_turn_passes_from_consumer_to_consumer() {
        let mut route = route(&[1, 2, 3]);
        for turn in [1, 2, 3, 1, 2] {
            assert_eq!(route.in_rotation().next(), Some(turn));
            route.advance_rotation(0);
        }
        let turn = |route: &Route| route.in_rotation().collect::<Vec<_>>();
        assert_eq!(turn(&route), [3, 1, 2]);
        route.advance_rotation(1);
        assert_eq!(turn(&route), [2, 3, 1], "consumer 1 was served");
        assert_eq!(route.unregister(2), RemainingConsumers::OthersStay);
        assert_eq!(route.unregister(2), RemainingConsumers::Unknown);
        assert_eq!(turn(&route), [1, 3]);
    }

    #[test]
    fn an_exclusive_registration_takes_the_route_and_a_shared_one_takes_it_back() {
        let mut route = route(&[1, 2]);
        assert_eq!(route.register(3, true), (vec![1, 2], true));
        assert_eq!(route.register(1, false), (vec![3], true));
        assert_eq!(route.register(1, true), (vec![], false));
        assert_eq!(route.unregister(1), RemainingConsumers::Last);
    }

    #[test]
    fn due_tasks_queue_behind_parked_ones_only() {
        let mut route = route(&[1]);
        assert!(!route.may_queue(2), "what is parked is not known");
        route.set_backlog(None);
        assert!(route.may_queue(2));
        route.queue(Position { at: 5, seq: 1 });
        assert!(!route.may_queue(1));
        route.note_parked(Position { at: 7, seq: 2 });
        route.note_parked(Position { at: 6, seq: 3 });
        assert!(!route.may_queue(2));
        assert_eq!(route.backlog(), Some(Position { at: 6, seq: 3 }));
    }

    #[test]
    fn parked_tasks_are_read_while_half_of_the_queue_is_empty() {
        let mut route = route(&[1]);
        let start = Position::start_of(0);
        assert_eq!(route.parked_to_read(4, 9), Some((start, 4)));
        assert_eq!(route.parked_to_read(4, 3), Some((start, 3)));
        assert_eq!(
            route.parked_to_read(4, 0),
            Some((start, 1)),
            "its queue is empty"
        );
        assert_eq!(route.parked_to_read(9_999, 9_999), Some((start, PARKED)));
        route.queue(Position { at: 5, seq: 1 });
        assert_eq!(route.parked_to_read(4, 9), Some((start, 3)));
        assert_eq!(route.parked_to_read(4, 0), None);
        route.queue(Position { at: 5, seq: 2 });
        route.queue(Position { at: 5, seq: 3 });
        assert_eq!(route.parked_to_read(4, 9), None, "more than half is queued");
        route.set_backlog(None);
        assert_eq!(route.parked_to_read(9, 9), None, "nothing is parked");
    }

    #[test]
    fn parked_tasks_are_read_in_parts() {
        let mut stored = StoredTasks::new();
        for (id, at) in [("a", 1), ("b", 2), ("c", 3)] {
            let revision = TaskRevision {
                route: "route".into(),
                id: id.into(),
                seq: stored.schedule(id, at, Terms::default()),
                attempt: 0,
            };
            let parked = stored.apply(&Op::Park(revision));
            assert_eq!(parked, Outcome::Applied(true));
        }
        let (view, name) = (stored.view(), "route".into());
        let mut route = route(&[1]);
        let mut read = |limit, room| {
            let found = route.read_parked(&name, &view, limit, room).unwrap();
            found.map(|found| found.iter().map(|task| task.id.to_string()).collect())
        };
        let ids = |ids: &[&str]| -> Option<Vec<String>> {
            Some(ids.iter().map(ToString::to_string).collect())
        };
        assert_eq!(read(2, 9), ids(&["a", "b"]));
        assert_eq!(read(2, 9), ids(&["c"]));
        assert_eq!(read(2, 9), None, "all are read");
    }
}
