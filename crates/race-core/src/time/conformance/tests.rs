use alloc::rc::Rc;
use core::{
    cell::RefCell,
    pin::Pin,
    task::{Context, Poll},
};

use super::clones;
use crate::{
    Moment, Timer,
    test::{VirtualClock, VirtualTimer},
};

/// A broken timer, whose clones share one alarm.
#[derive(Clone)]
struct Shared(Rc<RefCell<VirtualTimer>>);

impl Timer for Shared {
    fn now(&self) -> Moment {
        self.0.borrow().now()
    }

    fn poll_until(self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut *self.0.borrow_mut()).poll_until(deadline, cx)
    }

    fn disarm(self: Pin<&mut Self>) {
        Pin::new(&mut *self.0.borrow_mut()).disarm();
    }
}

/// A broken timer, whose clones start a clock of their own.
struct Restarted(VirtualTimer);

impl Clone for Restarted {
    fn clone(&self) -> Self {
        Self(VirtualClock::new().timer())
    }
}

impl Timer for Restarted {
    fn now(&self) -> Moment {
        self.0.now()
    }

    fn poll_until(self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.get_mut().0).poll_until(deadline, cx)
    }
}

#[test]
fn independent_clones_pass() {
    let clock = VirtualClock::new();
    clock
        .run(clones(|| clock.timer()))
        .expect("the timers are armed");
}

#[test]
#[should_panic(expected = "a clone must not disarm the original")]
fn clone_that_shares_the_alarm_is_reported() {
    let clock = VirtualClock::new();
    let _ = clock.run(clones(|| Shared(Rc::new(RefCell::new(clock.timer())))));
}

#[test]
#[should_panic(expected = "a clone has the same clock")]
fn clone_with_another_clock_is_reported() {
    let clock = VirtualClock::new();
    clock.advance(core::time::Duration::from_secs(1));
    let _ = clock.run(clones(|| Restarted(clock.timer())));
}
