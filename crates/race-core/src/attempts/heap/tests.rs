mod panicking_drop;
mod push_and_poll;
mod remove;

use alloc::{rc::Rc, sync::Arc, task::Wake, vec::Vec};
use core::{
    cell::{Cell, RefCell},
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    task::{Context, Poll, Waker},
};

use super::Attempts;
use crate::attempts::AttemptSet as _;

/// Set sizes on both sides of each boundary: alone, the first group, the groups after it.
const SIZES: [usize; 7] = [1, 2, 3, 64, 65, 130, 200];

/// Controls and observes one future of a set.
#[derive(Default)]
struct Control {
    waker: RefCell<Option<Waker>>,
    ready: Cell<bool>,
    /// The number of further polls in which the future wakes itself.
    self_wakes: Cell<usize>,
    panics_in_drop: Cell<bool>,
    polls: Cell<usize>,
    drops: Cell<usize>,
    /// Drops of the argument.
    arg_drops: Cell<usize>,
}

impl Control {
    fn wake(&self) {
        let waker = self.waker.borrow().clone();
        waker.expect("the future was polled").wake();
    }
}

struct Controlled(Rc<Control>);

impl Future for Controlled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        assert_eq!(self.0.drops.get(), 0, "polled after its drop");
        self.0.polls.set(self.0.polls.get() + 1);
        *self.0.waker.borrow_mut() = Some(cx.waker().clone());
        if let Some(rest) = self.0.self_wakes.get().checked_sub(1) {
            self.0.self_wakes.set(rest);
            cx.waker().wake_by_ref();
        }
        match self.0.ready.get() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for Controlled {
    fn drop(&mut self) {
        self.0.drops.set(self.0.drops.get() + 1);
        if self.0.panics_in_drop.get() {
            std::panic::resume_unwind(std::boxed::Box::new(()));
        }
    }
}

struct Arg(usize, Rc<Control>);

impl Drop for Arg {
    fn drop(&mut self) {
        self.1.arg_drops.set(self.1.arg_drops.get() + 1);
    }
}

type Set = Attempts<Controlled, Arg>;

/// A task that counts its wakes.
#[derive(Default)]
struct Task(AtomicUsize);

impl Task {
    fn wakes(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn push(set: &mut Set, index: usize, control: &Rc<Control>) {
    set.push_with(Arg(index, control.clone()), Controlled(control.clone()));
}

/// Calls `push_and_poll` for the task.
fn start(set: &mut Set, index: usize, control: &Rc<Control>, task: &Arc<Task>) -> Poll<usize> {
    let waker = Waker::from(task.clone());
    let mut cx = Context::from_waker(&waker);
    let arg = Arg(index, control.clone());
    let polled = Pin::new(set).push_and_poll(arg, Controlled(control.clone()), &mut cx);
    polled.map(|(arg, ())| arg.0)
}

fn poll(set: &mut Set, task: &Arc<Task>) -> Poll<Option<usize>> {
    let waker = Waker::from(task.clone());
    let polled = Pin::new(set).poll_ready(&mut Context::from_waker(&waker));
    polled.map(|finished| finished.map(|(arg, ())| arg.0))
}

fn remove(set: &mut Set, index: usize) -> Option<usize> {
    let removed = Pin::new(set).remove(|arg| arg.0 == index);
    removed.map(|arg| arg.0)
}

fn controls(count: usize) -> Vec<Rc<Control>> {
    (0..count).map(|_| Rc::default()).collect()
}

/// A set whose futures have been polled once.
fn polled(count: usize) -> (Set, Vec<Rc<Control>>, Arc<Task>) {
    let (controls, task) = (controls(count), Arc::default());
    let mut set = Attempts::new();
    for (index, control) in controls.iter().enumerate() {
        push(&mut set, index, control);
    }
    assert!(poll(&mut set, &task).is_pending());
    (set, controls, task)
}
