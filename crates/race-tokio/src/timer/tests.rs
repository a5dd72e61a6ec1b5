use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Wake, Waker},
    time::Duration,
};

use race_core::{Moment, Timer as _};

use crate::TokioTimer;

const HOUR: Duration = Duration::from_secs(3_600);

/// A waker whose clones can be counted.
struct Counted;

impl Wake for Counted {
    fn wake(self: Arc<Self>) {}
}

fn assert_traits<T: Clone + Default + Send + Sync + Unpin>() {}

async fn wait(timer: &mut TokioTimer, deadline: Moment) {
    poll_fn(|cx| Pin::new(&mut *timer).poll_until(deadline, cx)).await;
}

#[test]
fn timers_are_values() {
    assert_traits::<TokioTimer>();
}

#[tokio::test(start_paused = true)]
async fn clone_of_an_armed_timer_is_independent() {
    let counted = Arc::new(Counted);
    let waker = Waker::from(Arc::clone(&counted));
    let mut armed = TokioTimer::new();
    let later = armed.now() + HOUR;
    let polled = Pin::new(&mut armed).poll_until(later, &mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    let registered = Arc::strong_count(&counted);
    assert!(registered > 2, "the timer holds a waker");

    let mut clone = armed.clone();
    assert_eq!(Arc::strong_count(&counted), registered);
    let soon = clone.now() + Duration::from_millis(5);
    wait(&mut clone, soon).await;
    assert!(clone.now() >= soon);
    drop(clone);
    assert_eq!(Arc::strong_count(&counted), registered);

    drop(armed);
    assert_eq!(Arc::strong_count(&counted), 2);
}

#[tokio::test(start_paused = true)]
async fn one_timer_is_cloned_for_many_waits() {
    struct Client {
        timer: TokioTimer,
    }
    let client = Client {
        timer: TokioTimer::new(),
    };
    for _ in 0..3 {
        let mut timer = client.timer.clone();
        let deadline = timer.now() + Duration::from_millis(2);
        wait(&mut timer, deadline).await;
        assert!(client.timer.now() >= deadline, "the clock is the same");
    }
}
