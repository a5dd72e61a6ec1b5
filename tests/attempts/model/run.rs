use std::{
    mem,
    pin::Pin,
    rc::Rc,
    task::{Context, Waker},
};

use futures::{Stream, stream::FusedStream};
use proptest::sample::Index;
use race::Attempts;

use super::{
    contract::Contract,
    step::Step,
    world::{Actor, Arg, Event, Scripted, World},
};
use crate::payload::caught;

/// A set, its world and its contract.
pub(crate) struct Run {
    world: Rc<World>,
    set: Attempts<Scripted, Arg>,
    contract: Contract,
    /// Whether the next poll is by another task.
    swap_parent: bool,
    /// The first id of this set. Lower ids belong to sets that were dropped.
    first: usize,
}

impl Run {
    /// Plays a script on a set that is made with room for `capacity` futures.
    pub(crate) fn play(capacity: usize, script: Vec<Step>) {
        let mut run = Self {
            world: Rc::default(),
            set: Attempts::with_capacity(capacity),
            contract: Contract::default(),
            swap_parent: false,
            first: 0,
        };
        run.world.swap_parent();
        for step in script {
            run.step(step);
            run.check();
        }
        run.drop_set();
        run.check();
        let ids = 0..run.world.all.borrow().len();
        ids.for_each(|id| run.wake(id));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Poll(times) => (0..times).for_each(|_| {
                self.poll();
                self.contract.check_parent(&self.world);
            }),
            Step::Push(count) => (0..count).for_each(|_| self.push()),
            Step::Wake(one) => self.tell(one, |_| {}),
            Step::WakeMany(first, count) => {
                let live: Vec<_> = self.contract.live.keys().copied().collect();
                let from = first.index(live.len() + 1);
                let many = live.into_iter().skip(from).take(count);
                many.for_each(|id| self.wake(id));
            }
            Step::WakeGone(one) => {
                let ids = 0..self.world.all.borrow().len();
                let gone: Vec<_> = ids
                    .filter(|id| !self.contract.live.contains_key(id))
                    .collect();
                if !gone.is_empty() {
                    self.wake(*one.get(&gone));
                }
            }
            Step::Finish(one) => self.tell(one, |actor| actor.ready.set(true)),
            Step::FinishUnwoken(one) => {
                self.pick(one)
                    .into_iter()
                    .for_each(|id| self.world.actor(id).ready.set(true));
            }
            Step::WakeItselfInPolls(one, times) => {
                self.tell(one, |actor| actor.wakes_itself.set(times));
            }
            Step::WakeAnotherInPoll(one, other) => {
                let other = self.any(other);
                self.tell(one, |actor| actor.wakes_in_poll.set(other));
            }
            Step::WakeAnotherInDrop(one, other) => {
                let other = self.any(other);
                self.tell(one, |actor| actor.wakes_in_drop.set(other));
            }
            Step::PanicInPoll(one) => self.tell(one, |actor| actor.panics_in_poll.set(true)),
            Step::PanicInDrop(one) => self.tell(one, |actor| actor.panics_in_drop.set(true)),
            Step::SwapParent => self.swap_parent = true,
            Step::DropSet => self.drop_set(),
        }
    }

    fn poll(&mut self) {
        if mem::take(&mut self.swap_parent) {
            self.world.swap_parent();
        }
        let parent = self.world.parent();
        let before = parent.wakes();
        let waker = Waker::from(parent);
        let set = Pin::new(&mut self.set);
        let result = caught(|| set.poll_next(&mut Context::from_waker(&waker)));
        let events = self.world.take_log();
        let result = result.map(|poll| {
            poll.map(|finished| {
                let (arg, output) = finished?;
                assert_eq!(arg.0, output);
                Some(output)
            })
        });
        self.contract.polled(events, &result, before, &self.world);
    }

    fn push(&mut self) {
        let (arg, future) = self.world.add();
        self.contract.push(arg.0);
        self.set.push_with(arg, future);
    }

    /// Returns a live future.
    fn pick(&self, index: Index) -> Option<usize> {
        let live: Vec<_> = self.contract.live.keys().copied().collect();
        (!live.is_empty()).then(|| *index.get(&live))
    }

    /// Returns any future that was pushed, live or gone.
    fn any(&self, index: Index) -> Option<usize> {
        let count = self.world.all.borrow().len();
        (count > 0).then(|| index.index(count))
    }

    /// Changes what a live future does, and wakes it.
    fn tell(&mut self, index: Index, tell: impl FnOnce(&Actor)) {
        if let Some(id) = self.pick(index) {
            tell(&self.world.actor(id));
            self.wake(id);
        }
    }

    /// Wakes a future, live or gone, between polls.
    fn wake(&mut self, id: usize) {
        let before = self.world.wakes();
        self.world.wake(id);
        for event in self.world.take_log() {
            let Event::Woken(id, waker) = event else {
                panic!("a wake polled a future: {event:?}");
            };
            if id >= self.first {
                self.contract.woken(id, waker, &self.world);
            } else if !self.world.is_parents(&waker) {
                assert_eq!(
                    self.world.wakes(),
                    before,
                    "a set that is gone woke its task"
                );
            }
        }
    }

    fn drop_set(&mut self) {
        let panics = |id: &usize| self.world.actor(*id).panics_in_drop.get();
        let panics = self.contract.live.keys().any(panics);
        let set = mem::take(&mut self.set);
        assert_eq!(caught(|| drop(set)).is_err(), panics);
        self.world.take_log();
        self.contract = Contract::default();
        self.first = self.world.all.borrow().len();
    }

    fn check(&self) {
        let live = &self.contract.live;
        assert_eq!(self.set.len(), live.len());
        assert_eq!(self.set.size_hint(), (live.len(), Some(live.len())));
        assert_eq!(self.set.is_terminated(), live.is_empty());
        for (id, actor) in self.world.all.borrow().iter().enumerate() {
            let drops = (actor.drops.get(), actor.arg_drops.get());
            let expected = usize::from(!live.contains_key(&id));
            assert_eq!(drops, (expected, expected), "#{id}");
        }
        self.contract.check_parent(&self.world);
    }
}
