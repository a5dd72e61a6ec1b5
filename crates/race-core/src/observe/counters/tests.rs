use super::*;
use crate::{Moment, observe::Cause};

fn event(index: usize, ran: Duration, kind: EventKind) -> Event {
    let at = Moment::ZERO;
    Event::new(index, Cause::Delay, at, ran, kind)
}

#[test]
fn wasted_time_is_rounded_and_saturates() {
    let counters = Counters::new();
    let mut observer = &counters;
    let mut cancel = |ran| {
        observer.observe(event(1, ran, EventKind::Cancelled));
        counters.counts().wasted
    };
    assert_eq!(
        cancel(Duration::from_millis(3_000_017)).as_millis(),
        3_000_017
    );
    cancel(Duration::MAX);
    let most = cancel(Duration::MAX);
    assert_eq!(cancel(Duration::from_secs(1)), most);
    assert_eq!(
        most.as_micros() / 1_000,
        usize::MAX as u128 * 1_000 / u128::from(UNITS_PER_SECOND)
    );
    assert_eq!(counters.counts().cancelled, 4);
}

#[test]
fn events_of_several_threads_are_all_counted() {
    let counters = Arc::new(Counters::new());
    std::thread::scope(|scope| {
        for index in 0..4 {
            let mut observer = Arc::clone(&counters);
            scope.spawn(move || {
                for _ in 0..1_000 {
                    observer.observe(event(index, Duration::ZERO, EventKind::Started));
                    observer.observe(event(index, Duration::ZERO, EventKind::Won));
                }
            });
        }
    });
    let counts = counters.counts();
    assert_eq!(
        (counts.races, counts.extra, counts.attempts),
        (1_000, 3_000, 4_000)
    );
    assert_eq!((counts.wins, counts.helped), (4_000, 3_000));
}
