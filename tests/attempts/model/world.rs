use std::{
    cell::{Cell, RefCell},
    mem,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
};

use crate::{payload::throw, task::Parent};

/// All futures that were pushed, all tasks that polled, and a log of what happened.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) all: RefCell<Vec<Rc<Actor>>>,
    parents: RefCell<Vec<Arc<Parent>>>,
    log: RefCell<Vec<Event>>,
}

/// What one future does, and what happened to it.
#[derive(Default)]
pub(crate) struct Actor {
    pub(crate) ready: Cell<bool>,
    /// The number of further polls in which it wakes itself.
    pub(crate) wakes_itself: Cell<usize>,
    pub(crate) wakes_in_poll: Cell<Option<usize>>,
    pub(crate) wakes_in_drop: Cell<Option<usize>>,
    pub(crate) panics_in_poll: Cell<bool>,
    pub(crate) panics_in_drop: Cell<bool>,
    pub(crate) drops: Cell<usize>,
    pub(crate) arg_drops: Cell<usize>,
    waker: RefCell<Option<Waker>>,
}

#[derive(Debug)]
pub(crate) enum Event {
    /// A future was polled: its waker, the number of the parent's wakes until then, and the result.
    Polled(usize, Waker, usize, End),
    /// A future was woken by this waker.
    Woken(usize, Waker),
}

/// How a poll of a future ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Pending,
    Ready,
    Panicked,
}

impl World {
    /// Replaces the task that polls.
    pub(crate) fn swap_parent(&self) {
        self.parents.borrow_mut().push(Parent::new());
    }

    pub(crate) fn parent(&self) -> Arc<Parent> {
        self.parents.borrow().last().cloned().unwrap()
    }

    /// Returns the number of wakes of all tasks.
    pub(crate) fn wakes(&self) -> usize {
        self.parents
            .borrow()
            .iter()
            .map(|parent| parent.wakes())
            .sum()
    }

    /// Returns whether a waker is that of a task.
    pub(crate) fn is_parents(&self, waker: &Waker) -> bool {
        let is = |parent: &Arc<Parent>| Arc::as_ptr(parent).cast() == waker.data();
        self.parents.borrow().iter().any(is)
    }

    pub(crate) fn actor(&self, id: usize) -> Rc<Actor> {
        self.all.borrow()[id].clone()
    }

    /// Wakes a future, live or gone, if it was ever polled.
    pub(crate) fn wake(&self, id: usize) {
        let Some(waker) = self.actor(id).waker.borrow().clone() else {
            return;
        };
        self.log.borrow_mut().push(Event::Woken(id, waker.clone()));
        match id % 2 {
            0 => waker.wake(),
            _ => waker.wake_by_ref(),
        }
    }

    pub(crate) fn take_log(&self) -> Vec<Event> {
        mem::take(&mut self.log.borrow_mut())
    }

    /// Creates the next future.
    pub(crate) fn add(self: &Rc<Self>) -> (Arg, Scripted) {
        let id = self.all.borrow().len();
        self.all.borrow_mut().push(Rc::default());
        (Arg(id, self.clone()), Scripted(id, self.clone()))
    }
}

/// The argument of a future.
pub(crate) struct Arg(pub(crate) usize, Rc<World>);

impl Drop for Arg {
    fn drop(&mut self) {
        let actor = self.1.actor(self.0);
        let too_early = actor.drops.get() == 0; // the future must be dropped first
        actor
            .arg_drops
            .set(actor.arg_drops.get() + 1 + usize::from(too_early));
    }
}

/// A future that acts as its actor says.
pub(crate) struct Scripted(usize, Rc<World>);

impl Future for Scripted {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<usize> {
        let Self(id, world) = &*self;
        let actor = world.actor(*id);
        let end = match actor.ready.get() {
            _ if actor.panics_in_poll.get() => End::Panicked,
            true => End::Ready,
            false => End::Pending,
        };
        let wakes = world.parent().wakes();
        let polled = Event::Polled(*id, cx.waker().clone(), wakes, end);
        world.log.borrow_mut().push(polled);
        actor.waker.replace(Some(cx.waker().clone()));
        if let Some(rest) = actor.wakes_itself.get().checked_sub(1) {
            actor.wakes_itself.set(rest);
            world.wake(*id);
        }
        actor
            .wakes_in_poll
            .take()
            .into_iter()
            .for_each(|other| world.wake(other));
        match end {
            End::Panicked => throw(*id),
            End::Ready => Poll::Ready(*id),
            End::Pending => Poll::Pending,
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        let Self(id, world) = self;
        let actor = world.actor(*id);
        actor.drops.set(actor.drops.get() + 1);
        actor
            .wakes_in_drop
            .take()
            .into_iter()
            .for_each(|other| world.wake(other));
        if actor.panics_in_drop.get() && !thread::panicking() {
            throw(*id);
        }
    }
}
