use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Wake, Waker},
    time::Duration,
};

use race_core::{Moment, Timer as _};

use crate::AsyncIoTimer;

const HOUR: Duration = Duration::from_secs(3_600);

/// A waker whose clones can be counted.
struct Counted;

impl Wake for Counted {
    fn wake(self: Arc<Self>) {}
}

fn assert_traits<T: Clone + Default + Send + Sync + Unpin>() {}

async fn wait(timer: &mut AsyncIoTimer, deadline: Moment) {
    poll_fn(|cx| Pin::new(&mut *timer).poll_until(deadline, cx)).await;
}

#[test]
fn timers_are_values() {
    assert_traits::<AsyncIoTimer>();
}

#[test]
fn clone_of_an_armed_timer_is_independent() {
    let counted = Arc::new(Counted);
    let waker = Waker::from(Arc::clone(&counted));
    let mut armed = AsyncIoTimer::new();
    let later = armed.now() + HOUR;
    let polled = Pin::new(&mut armed).poll_until(later, &mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    let registered = Arc::strong_count(&counted);
    assert!(registered > 2, "the timer holds a waker");

    let mut clone = armed.clone();
    assert_eq!(Arc::strong_count(&counted), registered);
    let soon = clone.now() + Duration::from_millis(5);
    async_io::block_on(wait(&mut clone, soon));
    assert!(clone.now() >= soon);
    drop(clone);
    assert_eq!(Arc::strong_count(&counted), registered);
    let polled = Pin::new(&mut armed).poll_until(later, &mut Context::from_waker(&waker));
    assert!(polled.is_pending());
}

#[test]
fn one_timer_is_cloned_for_many_waits() {
    struct Client {
        timer: AsyncIoTimer,
    }
    let client = Client {
        timer: AsyncIoTimer::new(),
    };
    for _ in 0..3 {
        let mut timer = client.timer.clone();
        let deadline = timer.now() + Duration::from_millis(2);
        async_io::block_on(wait(&mut timer, deadline));
        assert!(client.timer.now() >= deadline, "the clock is the same");
    }
}
