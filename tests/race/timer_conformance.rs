//! The conformance suite detects each way of breaking the contract of a timer.

use std::{
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use race::{
    Moment, Timer,
    test::{VirtualClock, VirtualTimer, conformance},
};

/// How a timer is broken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Early,
    EdgeTriggered,
    NeverWakes,
    KeepsTheFirstWaker,
    KeepsTheFirstDeadline,
    IgnoresAnEarlierDeadline,
    ForgetsAfterDisarm,
    ReadyAfterDisarm,
    NeverIsNow,
}

struct Broken {
    timer: VirtualTimer,
    fault: Fault,
    first: Cell<Option<Moment>>,
    waker: RefCell<Option<Waker>>,
    rung: bool,
    disarmed: bool,
}

impl Timer for Broken {
    fn now(&self) -> Moment {
        self.timer.now()
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        let first = self.first.get().unwrap_or(deadline);
        self.first.set(Some(first));
        let noop = Waker::noop();
        let mut deadline = deadline;
        let mut waker = cx.waker().clone();
        match self.fault {
            Fault::None => {}
            Fault::Early => {
                deadline = Moment::from_nanos(deadline.as_nanos().saturating_sub(1_000));
            }
            Fault::EdgeTriggered if self.rung => return Poll::Pending,
            Fault::EdgeTriggered => {}
            Fault::NeverWakes => waker = noop.clone(),
            Fault::KeepsTheFirstWaker => {
                waker = self.waker.borrow_mut().get_or_insert(waker).clone();
            }
            Fault::KeepsTheFirstDeadline => deadline = first,
            Fault::IgnoresAnEarlierDeadline => {
                deadline = deadline.max(first);
                self.first.set(Some(deadline));
            }
            Fault::ForgetsAfterDisarm if self.disarmed => waker = noop.clone(),
            Fault::ReadyAfterDisarm if self.disarmed => return Poll::Ready(()),
            Fault::ForgetsAfterDisarm | Fault::ReadyAfterDisarm => {}
            Fault::NeverIsNow if deadline == Moment::NEVER => return Poll::Ready(()),
            Fault::NeverIsNow => {}
        }
        let mut cx = Context::from_waker(&waker);
        let polled = Pin::new(&mut self.timer).poll_until(deadline, &mut cx);
        self.rung |= polled.is_ready();
        polled
    }

    fn disarm(mut self: Pin<&mut Self>) {
        self.disarmed = true;
        Pin::new(&mut self.timer).disarm();
    }
}

fn passes(fault: Fault) -> bool {
    let clock = VirtualClock::new();
    clock.advance(Duration::from_secs(1));
    let make = || Broken {
        timer: clock.timer(),
        fault,
        first: Cell::new(None),
        waker: RefCell::default(),
        rung: false,
        disarmed: false,
    };
    let ran = catch_unwind(AssertUnwindSafe(|| clock.run(conformance::timer(make))));
    matches!(ran, Ok(Ok(())))
}

#[test]
fn correct_timer_conforms() {
    assert!(passes(Fault::None));
}

#[test]
fn boxed_timer_conforms() {
    let clock = VirtualClock::new();
    let make = || race::BoxTimer::new(clock.timer());
    assert_eq!(clock.run(conformance::timer(make)), Ok(()));
}

#[test]
fn each_fault_is_detected() {
    let faults = [
        Fault::Early,
        Fault::EdgeTriggered,
        Fault::NeverWakes,
        Fault::KeepsTheFirstWaker,
        Fault::KeepsTheFirstDeadline,
        Fault::IgnoresAnEarlierDeadline,
        Fault::ForgetsAfterDisarm,
        Fault::ReadyAfterDisarm,
        Fault::NeverIsNow,
    ];
    for fault in faults {
        assert!(!passes(fault), "{fault:?} passes");
    }
}
