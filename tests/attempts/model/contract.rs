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

/// How many are polled in the order in which they were pushed.
const NEAR: usize = 61;

/// After how many rounds they may take turns in being first.
const ROUNDS: usize = 32;

/// Who is to be polled when, by the contract alone. Numbers count up in the order of pushing.
#[derive(Default)]
pub(crate) struct Contract {
    /// Who lives, and whether it was pushed while there were fewer than 61 of its kind.
    pub(crate) live: BTreeMap<usize, bool>,
    /// The only one since the set was empty.
    alone: Option<usize>,
    /// Pushed and not polled since; also the first, when there are two.
    fresh: BTreeSet<usize>,
    woken: BTreeSet<usize>,
    /// Wakers of those who are gone, woken in vain or for whoever has the slot now.
    stale: Vec<Waker>,
    round: Round,
    /// How many rounds there were in which somebody was due.
    rounds: usize,
    /// The round was left when one was ready, or panicked.
    amid: bool,
    /// The last poll was pending, and the parent had been woken so often when its round began.
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

    /// What a poll did, when the parent had been woken so often before; an error is who panicked.
    pub(crate) fn polled(
        &mut self,
        events: Vec<Event>,
        result: &Result<Poll<Option<usize>>, usize>,
        before: usize,
        world: &World,
    ) {
        self.pending = None;
        let mut began =
            (!self.amid || self.alone.is_some() || self.live.is_empty()).then_some(before);
        if began.is_some() {
            self.begin(world);
        }
        let mut last = None;
        for event in events {
            match event {
                Event::Woken(id, waker) => self.woken(id, waker, world),
                Event::Polled(id, waker, wakes, end) => {
                    assert_eq!(last, None, "polled #{id} after one that was not pending");
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
                self.amid = true;
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
                assert_eq!(last.map(|(id, _)| id), Some(id), "who has panicked?");
                self.amid = true;
            }
        }
    }

    /// A round begins, when the one before is over.
    fn begin(&mut self, world: &World) {
        let rest = mem::take(&mut self.round).due;
        assert!(rest.is_empty(), "left over: {rest:?}");
        self.amid = false;
        let sets = [mem::take(&mut self.woken), mem::take(&mut self.fresh)];
        self.round.due = sets.into_iter().flatten().chain(self.alone).collect();
        self.rounds += usize::from(!self.round.due.is_empty());
        self.round.is_ordered = self.rounds <= ROUNDS;
        self.round.stale = mem::take(&mut self.stale);
        self.round.until = world.all.borrow().len();
    }

    fn visit(&mut self, id: usize, waker: &Waker, world: &World) {
        let is_near = *self.live.get(&id).expect("one that is gone was polled");
        let parents = waker.data() == Arc::as_ptr(&world.parent()).cast();
        assert_eq!(
            parents,
            self.alone == Some(id),
            "the parent's waker is for one alone"
        );
        self.round.visit(id, waker, is_near);
    }

    fn remove(&mut self, id: usize) {
        self.live.remove(&id);
        self.woken.remove(&id);
        self.alone = self.alone.filter(|alone| *alone != id);
    }

    /// The parent of the last poll must know if one was woken since.
    pub(crate) fn check_parent(&self, world: &World) {
        if let (Some(before), false) = (self.pending, self.woken.is_empty()) {
            assert!(world.parent().wakes() > before, "{:?} is awake", self.woken);
        }
    }
}
