//! Short durations, attempts that record their starts, and a timer that counts its use.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    mem,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use futures::FutureExt;
use proptest::test_runner::Config;
use race::{
    Moment, Timer,
    test::{VirtualClock, VirtualTimer},
};

/// A configuration with `number` cases, or `PROPTEST_CASES` if that is set.
pub(crate) fn cases(number: u32) -> Config {
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = number;
    }
    config.failure_persistence = None;
    config
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Records when something happened on a virtual clock.
#[derive(Clone)]
pub(crate) struct Trace {
    pub(crate) clock: VirtualClock,
    at: Rc<RefCell<Vec<u64>>>,
}

impl Trace {
    pub(crate) fn new(clock: &VirtualClock) -> Self {
        Self {
            clock: clock.clone(),
            at: Rc::default(),
        }
    }

    pub(crate) fn note(&self) {
        let millis = self.clock.elapsed().as_millis();
        self.at.borrow_mut().push(millis.try_into().unwrap());
    }

    /// The recorded times in milliseconds.
    pub(crate) fn millis(&self) -> Vec<u64> {
        self.at.borrow().clone()
    }

    /// An attempt that records its start and takes this long.
    pub(crate) fn attempt(&self, millis: u64) -> impl Future<Output = u64> + use<> {
        let trace = self.clone();
        async move {
            trace.note();
            trace.clock.sleep(ms(millis)).await;
            millis
        }
    }
}

/// Wakes itself and is ready in its second poll.
pub(crate) async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A future that counts its polls.
pub(crate) struct Counted<F> {
    pub(crate) future: F,
    pub(crate) polls: Rc<Cell<usize>>,
}

impl<F: Future + Unpin> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.polls.set(self.polls.get() + 1);
        self.future.poll_unpin(cx)
    }
}

/// A virtual timer that counts how it is used.
#[derive(Clone, Default)]
pub(crate) struct Usage {
    pub(crate) clock_reads: Rc<Cell<usize>>,
    pub(crate) polls: Rc<Cell<usize>>,
}

pub(crate) struct CountedTimer {
    timer: VirtualTimer,
    usage: Usage,
}

impl Usage {
    pub(crate) fn timer(&self, clock: &VirtualClock) -> CountedTimer {
        CountedTimer {
            timer: clock.timer(),
            usage: self.clone(),
        }
    }

    /// Clock reads and polls.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.clock_reads.get(), self.polls.get())
    }
}

impl Timer for CountedTimer {
    fn now(&self) -> Moment {
        self.usage.clock_reads.set(self.usage.clock_reads.get() + 1);
        self.timer.now()
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        self.usage.polls.set(self.usage.polls.get() + 1);
        Pin::new(&mut self.timer).poll_until(deadline, cx)
    }

    fn disarm(mut self: Pin<&mut Self>) {
        Pin::new(&mut self.timer).disarm();
    }
}
