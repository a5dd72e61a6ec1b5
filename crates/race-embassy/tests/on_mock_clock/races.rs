//! Races whose attempts await `embassy_time::Timer`, with both aliases: when they start, win, time
//! out and end.

macro_rules! races {
    ($placement:ident: $($race:tt)+) => {
        mod $placement {
            use core::{future::poll_fn, task::Poll, time::Duration};
            use std::{cell::RefCell, vec::Vec};

            use embassy_time::Timer;
            use race_embassy::race_core::OnFailure;

            use crate::executor::{count, now, run};

            const DELAY: Duration = Duration::from_millis(50);

            async fn after(millis: u64) -> u64 {
                Timer::after_millis(millis).await;
                millis
            }

            #[test]
            fn second_attempt_wins() {
                let ran = count(async {
                    let race = $($race)+::of(DELAY, [100, 20, 80].map(after));
                    race.first().await
                });
                let won = ran.output.expect("there are three attempts");
                assert_eq!((won.index, won.output), (1, 20));
                assert_eq!((won.elapsed, ran.ticks), (Duration::from_millis(70), 70_000));
            }

            #[test]
            fn attempts_start_a_delay_apart() {
                let starts = RefCell::new(Vec::new());
                let attempt = |_: &u64| {
                    starts.borrow_mut().push(now());
                    after(500)
                };
                run($($race)+::new(DELAY, attempt, 0..4).first());
                assert_eq!(starts.into_inner(), [0, 50_000, 100_000, 150_000]);
            }

            /// Each start is rounded up to a tick, and the next delay counts from there.
            #[test]
            fn delay_between_two_ticks_is_rounded_up() {
                let starts = RefCell::new(Vec::new());
                let attempt = |_: &u64| {
                    starts.borrow_mut().push(now());
                    after(1)
                };
                run($($race)+::new(Duration::from_nanos(1_500), attempt, 0..4).first());
                assert_eq!(starts.into_inner(), [0, 2, 4, 6]);
            }

            #[test]
            fn every_completion_comes_out_at_its_tick() {
                let finished = run(async {
                    let mut race = core::pin::pin!($($race)+::of(DELAY, [100, 20, 80].map(after)));
                    let mut finished = Vec::new();
                    while let Some((index, millis)) = race.as_mut().next().await {
                        finished.push((index, millis, now()));
                    }
                    finished
                });
                assert_eq!(finished, [(1, 20, 70_000), (0, 100, 100_000), (2, 80, 180_000)]);
            }

            #[test]
            fn failure_starts_next_attempt_at_the_same_tick() {
                let ran = count(async {
                    let attempt = |&index: &u64| async move {
                        Timer::after_millis(10).await;
                        if index < 2 { Err(index) } else { Ok(index) }
                    };
                    $($race)+::new(DELAY, attempt, 0..4).first_ok().await
                });
                let won = ran.output.expect("the third attempt succeeds");
                assert_eq!((won.index, ran.ticks), (2, 30_000));
            }

            #[test]
            fn failed_race_returns_the_last_error() {
                let ran = count(async {
                    let attempt = |&millis: &u64| async move { Err::<(), _>(after(millis).await) };
                    let error = $($race)+::new(DELAY, attempt, [30, 10, 20]).first_ok().await;
                    error.map_err(|error| error.into_last_error())
                });
                assert_eq!((ran.output.err(), ran.ticks), (Some(Some(20)), 60_000));
            }

            #[test]
            fn attempts_time_out_and_the_race_fails() {
                let ran = count(async {
                    let attempts = [300, 400].map(|millis| async move {
                        after(millis).await;
                        Ok::<_, ()>(())
                    });
                    let race = $($race)+::of(DELAY, attempts).on_failure(OnFailure::Wait);
                    race.attempt_timeout(Duration::from_micros(70_001)).first_ok().await
                });
                // The second attempt starts at 50 ms.
                assert!(ran.output.is_err());
                assert_eq!(ran.ticks, 120_001);
            }

            #[test]
            fn deadline_ends_the_race() {
                let ran = count(async {
                    let race = $($race)+::of(DELAY, [300, 400, 500].map(after));
                    race.deadline(Duration::from_nanos(123_456_789)).first().await
                });
                assert_eq!((ran.output.is_none(), ran.ticks), (true, 123_457));
            }

            #[test]
            fn attempts_are_polled_with_the_waker_of_the_task() {
                run(async {
                    let task = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
                    let attempts = [1, 2, 3].map(|millis| {
                        let mut timer = Timer::after_millis(millis);
                        let task = &task;
                        poll_fn(move |cx| {
                            assert!(cx.waker().will_wake(task));
                            core::pin::Pin::new(&mut timer).poll(cx)
                        })
                    });
                    assert!($($race)+::of(Duration::ZERO, attempts).first().await.is_some());
                });
            }

            #[test]
            fn more_attempts_than_the_queue_has_room_for() {
                let ran = count(async {
                    let attempts = (0..4).map(|_| async {
                        let inner = (1..=4).map(after);
                        $($race)+::of(Duration::ZERO, inner).first().await
                    });
                    $($race)+::of(Duration::ZERO, attempts).first().await
                });
                // One task needs one place in the queue, however many of its futures wait.
                assert!(ran.output.is_some());
                assert_eq!(ran.ticks, 1_000);
                assert!(ran.polls < 10, "{} polls", ran.polls);
            }
        }
    };
}

races!(inline: race_embassy::InlineRace::<4, _>);
races!(on_the_heap: race_embassy::Race);
