use super::*;
use futures::future::{join, pending};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn run_jumps_from_deadline_to_deadline() {
    let clock = VirtualClock::new();
    let both = async {
        clock.sleep(ms(30)).await;
        let between = clock.elapsed();
        clock.sleep(ms(12)).await;
        between
    };
    let (between, ()) = clock.run(join(both, clock.sleep(ms(35)))).unwrap();
    assert_eq!((between, clock.elapsed()), (ms(30), ms(42)));
}

#[test]
fn deadlock_is_an_error_with_the_time() {
    let clock = VirtualClock::new();
    let stuck = async {
        clock.sleep(ms(5)).await;
        pending::<()>().await;
    };
    let deadlock = clock.run(stuck).unwrap_err();
    assert_eq!(deadlock.at, ms(5));
    assert!(std::format!("{deadlock}").starts_with("deadlock at 5ms: "));
}

#[test]
fn endless_sleep_is_a_deadlock() {
    let clock = VirtualClock::new();
    assert!(clock.run(clock.sleep(Duration::MAX)).is_err());
    clock.advance(Duration::MAX);
    assert!(clock.run(clock.sleep(Duration::MAX)).is_err());
}

#[test]
fn advance_wakes_due_timers_and_dropped_timers_are_removed() {
    let clock = VirtualClock::new();
    let outcome = clock.run(async {
        let mut late = pin!(clock.sleep(ms(10)));
        let mut dropped = clock.sleep(ms(20));
        core::future::poll_fn(|cx| {
            assert!(late.as_mut().poll(cx).is_pending());
            assert!(Pin::new(&mut dropped).poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(dropped);
        clock.advance(ms(15));
        late.await;
        clock.elapsed()
    });
    assert_eq!(outcome, Ok(ms(15)));
    assert!(clock.lock().alarms.is_empty());
}
