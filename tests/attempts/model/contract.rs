use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
    task::{Poll, Waker},
};

use super::{
    round::Round,
    world::{End, Event, World},
};

/// The number of futures that are polled in push order.
const NEAR: usize = usize::BITS as usize;

/// The number of rounds after which the starting slot may rotate.
const ROUNDS: usize = 32;

/// Which futures a poll must and may visit, by the contract alone. Ids ascend in push order.
#[derive(Default)]
pub(crate) struct Contract {
    /// The live futures, and whether fewer than `NEAR` *near* ones lived when each was pushed,
    /// which makes it near, too.
    pub(crate) live: BTreeMap<usize, bool>,
    /// The future that was pushed on the empty set, until there is a second one.
    alone: Option<usize>,
    /// The futures that were pushed and not polled since; the first one again when it gets company.
    fresh: BTreeSet<usize>,
    woken: BTreeSet<usize>,
    /// Woken wakers of futures that are gone. They may cause a poll of the slot's new future.
    stale: Vec<Waker>,
    round: Round,
    /// The number of rounds with a future to poll.
    rounds: usize,
    /// The last poll interrupted its round, because a future finished or panicked.
    interrupted: bool,
    /// If the last poll was pending: the number of the parent's wakes when its round began.
    pending: Option<usize>,
}

impl Contract {
    pub(crate) fn push(&mut self, id: usize) {
        let near = self.live.values().filter(|is_near| **is_near).count();
        match self.alone.take() {
            Some(first) => _ = self.fresh.insert(first),
            None if self.live.is_empty() => self.alone = Some(id),
            None => {}
        }
        self.live.insert(id, near < NEAR);
        self.fresh.insert(id);
    }

    pub(crate) fn woken(&mut self, id: usize, waker: Waker, world: &World) {
        let own = !world.is_parents(&waker);
        if self.live.contains_key(&id) {
            if own || self.alone == Some(id) {
                self.woken.insert(id);
            }
        } else if own {
            self.stale.push(waker);
        }
    }

    /// Checks what a poll did. `before` is the number of the parent's wakes before the poll; an
    /// error is the id of the future that panicked.
    pub(crate) fn polled(
        &mut self,
        events: Vec<Event>,
        result: &Result<Poll<Option<usize>>, usize>,
        before: usize,
        world: &World,
    ) {
        self.pending = None;
        let mut began =
            (!self.interrupted || self.alone.is_some() || self.live.is_empty()).then_some(before);
        if began.is_some() {
            self.begin(world);
        }
        let mut last = None;
        for event in events {
            match event {
                Event::Woken(id, waker) => self.woken(id, waker, world),
                Event::Polled(id, waker, wakes, end) => {
                    assert_eq!(last, None, "polled #{id} after a future that finished");
                    if began.is_none() && !self.round.takes(id, &waker) {
                        began = Some(wakes);
                        self.begin(world);
                    }
                    self.visit(id, &waker, world);
                    if end != End::Pending {
                        self.remove(id);
                        last = Some((id, end));
                    }
                }
            }
        }
        match *result {
            Ok(Poll::Ready(Some(id))) => {
                assert_eq!(last, Some((id, End::Ready)));
                self.interrupted = true;
            }
            Ok(Poll::Ready(None)) => {
                assert!(last.is_none() && self.live.is_empty());
                self.round = Round::default();
            }
            Ok(Poll::Pending) => {
                assert_eq!(last, None);
                self.pending = began.or_else(|| {
                    self.begin(world);
                    Some(world.parent().wakes())
                });
                assert!(
                    self.round.due.is_empty(),
                    "not polled: {:?}",
                    self.round.due
                );
                self.round = Round::default();
            }
            Err(id) => {
                assert_eq!(
                    last.map(|(id, _)| id),
                    Some(id),
                    "the panic of another future"
                );
                self.interrupted = true;
            }
        }
    }

    /// Begins a round. The previous one must be complete.
    fn begin(&mut self, world: &World) {
        let rest = mem::take(&mut self.round).due;
        assert!(
            rest.is_empty(),
            "not polled in the previous round: {rest:?}"
        );
        self.interrupted = false;
        let sets = [mem::take(&mut self.woken), mem::take(&mut self.fresh)];
        self.round.due = sets.into_iter().flatten().chain(self.alone).collect();
        self.rounds += usize::from(!self.round.due.is_empty());
        self.round.is_ordered = self.rounds <= ROUNDS;
        self.round.stale = mem::take(&mut self.stale);
        self.round.until = world.all.borrow().len();
    }

    fn visit(&mut self, id: usize, waker: &Waker, world: &World) {
        let is_near = *self
            .live
            .get(&id)
            .expect("a future that is gone was polled");
        let parents = waker.data() == Arc::as_ptr(&world.parent()).cast();
        assert_eq!(
            parents,
            self.alone == Some(id),
            "only a single future gets the parent's waker"
        );
        self.round.visit(id, waker, is_near);
    }

    fn remove(&mut self, id: usize) {
        self.live.remove(&id);
        self.woken.remove(&id);
        self.alone = self.alone.filter(|alone| *alone != id);
    }

    /// Checks that the parent was woken if a future was woken since the last poll.
    pub(crate) fn check_parent(&self, world: &World) {
        if let (Some(before), false) = (self.pending, self.woken.is_empty()) {
            assert!(
                world.parent().wakes() > before,
                "{:?} woke, but not the parent",
                self.woken
            );
        }
    }
}
