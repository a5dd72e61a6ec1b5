//! A global scope for tests, whose clock and timeouts a test drives.

use alloc::{rc::Rc, vec::Vec};
use core::cell::RefCell;
use std::{collections::BTreeMap, thread_local};

type Function = Rc<RefCell<dyn FnMut()>>;

thread_local! {
    static SCOPE: RefCell<Scope> = RefCell::default();
}

#[derive(Default)]
struct Scope {
    now: f64,
    /// The id of the latest timeout.
    last: u32,
    timeouts: BTreeMap<u32, Function>,
    /// The delays of all timeouts that were set.
    delays: Vec<i32>,
}

pub(crate) fn now() -> f64 {
    SCOPE.with_borrow(|scope| scope.now)
}

pub(crate) fn set_clock(millis: f64) {
    SCOPE.with_borrow_mut(|scope| scope.now = millis);
}

/// How many timeouts are set.
pub(crate) fn timeouts() -> usize {
    SCOPE.with_borrow(|scope| scope.timeouts.len())
}

/// The delays of the timeouts that were set since the last call.
pub(crate) fn take_delays() -> Vec<i32> {
    SCOPE.with_borrow_mut(|scope| core::mem::take(&mut scope.delays))
}

/// Calls the callback of the only timeout, at this time.
pub(crate) fn call_back(at: f64) {
    set_clock(at);
    assert_eq!(timeouts(), 1);
    let (_, function) = SCOPE.with_borrow_mut(|scope| scope.timeouts.pop_first().expect("one"));
    (function.borrow_mut())();
}

pub(crate) struct Callback(Function);

impl Callback {
    pub(crate) fn new(function: impl FnMut() + 'static) -> Self {
        Self(Rc::new(RefCell::new(function)))
    }
}

pub(crate) struct Timeout(u32);

impl Timeout {
    pub(crate) fn set(callback: &Callback, millis: i32) -> Self {
        SCOPE.with_borrow_mut(|scope| {
            scope.last += 1;
            scope.timeouts.insert(scope.last, callback.0.clone());
            scope.delays.push(millis);
            Self(scope.last)
        })
    }

    pub(crate) fn clear(self) {
        SCOPE.with_borrow_mut(|scope| scope.timeouts.remove(&self.0));
    }
}
