//! Attempts that are taken out while they run, from every kind of set, woken or not.

use alloc::{rc::Rc, vec::Vec};
use core::{
    cell::{Cell, RefCell},
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::{AttemptSet as _, Attempts};

/// Leaves its waker on a desk, is ready when the desk says so, and says when it is polled or dropped.
struct Clerk(Rc<Desk>);

#[derive(Default)]
struct Desk {
    waker: RefCell<Option<Waker>>,
    ready: Cell<bool>,
    polls: Cell<usize>,
    gone: Cell<bool>,
}

impl Desk {
    fn wake(&self) {
        let waker = self.waker.borrow().clone();
        waker.expect("it was polled").wake();
    }
}

impl Future for Clerk {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        assert!(!self.0.gone.get(), "polled after it was dropped");
        self.0.polls.set(self.0.polls.get() + 1);
        *self.0.waker.borrow_mut() = Some(cx.waker().clone());
        match self.0.ready.get() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        assert!(!self.0.gone.replace(true), "dropped twice");
    }
}

type Set = Attempts<Clerk, usize>;

fn poll(set: &mut Set) -> Poll<Option<usize>> {
    let mut cx = Context::from_waker(Waker::noop());
    let polled = Pin::new(set).poll_ready(&mut cx);
    polled.map(|finished| finished.map(|(number, ())| number))
}

fn remove(set: &mut Set, number: usize) -> Option<usize> {
    Pin::new(set).remove(|&it| it == number)
}

fn set(count: usize) -> (Set, Vec<Rc<Desk>>) {
    let desks: Vec<Rc<Desk>> = (0..count).map(|_| Rc::default()).collect();
    let mut set = Attempts::new();
    for (number, desk) in desks.iter().enumerate() {
        set.push(number, Clerk(desk.clone()));
    }
    assert!(poll(&mut set).is_pending());
    (set, desks)
}

const COUNTS: [usize; 7] = [1, 2, 3, 61, 62, 130, 200];

#[test]
fn each_can_be_removed_once_and_the_others_go_on() {
    for count in COUNTS {
        for victim in [0, count / 2, count - 1] {
            let (mut set, desks) = set(count);
            assert_eq!(remove(&mut set, victim), Some(victim));
            assert!(desks[victim].gone.get());
            assert_eq!(remove(&mut set, victim), None);
            assert_eq!(set.len(), count - 1);
            for (number, desk) in desks.iter().enumerate() {
                desk.ready.set(true);
                desk.wake(); // the victim's waker, too
                let expected = (number != victim).then_some(number);
                match expected {
                    Some(_) => assert_eq!(poll(&mut set), Poll::Ready(expected)),
                    None => assert_eq!(desk.polls.get(), 1),
                }
            }
            assert_eq!(poll(&mut set), Poll::Ready(None));
        }
    }
}

#[test]
fn one_that_was_woken_and_is_removed_amid_a_round_is_not_polled() {
    for count in COUNTS.into_iter().filter(|count| *count > 2) {
        let (mut set, desks) = set(count);
        desks[0].ready.set(true);
        for number in [0, 1, count - 1] {
            desks[number].wake();
        }
        assert_eq!(poll(&mut set), Poll::Ready(Some(0)));
        for victim in [count - 1, 1] {
            if !desks[victim].gone.get() {
                assert_eq!(remove(&mut set, victim), Some(victim));
            }
        }
        let left = set.len();
        // Its slot is free, and who comes into it is polled.
        let newcomer: Rc<Desk> = Rc::default();
        set.push(count, Clerk(newcomer.clone()));
        assert!(poll(&mut set).is_pending());
        assert_eq!((newcomer.polls.get(), set.len()), (1, left + 1));
        for victim in [count - 1, 1] {
            assert_eq!(desks[victim].polls.get(), 1, "{victim} of {count}");
        }
    }
}

#[test]
fn the_set_drops_what_is_left() {
    for count in COUNTS {
        let (mut set, desks) = set(count);
        for victim in (0..count).step_by(3) {
            assert_eq!(remove(&mut set, victim), Some(victim));
        }
        drop(set);
        assert!(desks.iter().all(|desk| desk.gone.get()));
    }
}
