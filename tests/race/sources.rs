use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::pending,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use futures::{FutureExt, StreamExt, channel::mpsc, poll, stream};
use race::{
    Budget, CatchUp, QuorumError, RaceError, Verdict,
    core::Race,
    source::{Source, SourceTypes},
    test::{VirtualClock, VirtualSleep},
};

use crate::probe::{Trace, ms};

#[test]
fn argument_comes_back_with_its_output() {
    let clock = VirtualClock::new();
    let words = ["three".to_owned(), "a".to_owned(), "of".to_owned()];
    let run = |word: &String| {
        let length = word.len();
        clock.sleep(ms(length as u64)).map(move |()| length)
    };
    let race = Race::at(clock.timer()).new(Duration::ZERO, run, words);
    let back: Vec<_> = clock.run(race.collect()).unwrap();
    let expected = [("a", 1), ("of", 2), ("three", 5)];
    assert_eq!(
        back,
        expected.map(|(word, length)| (word.to_owned(), length))
    );
}

#[test]
fn candidates_are_drawn_on_demand_at_most_one_ahead() {
    let (clock, drawn) = (VirtualClock::new(), Cell::new(0));
    let attempts = (0..10).map(|_| {
        drawn.set(drawn.get() + 1);
        clock.sleep(ms(100))
    });
    let mut race = Race::at(clock.timer())
        .of(ms(30), attempts)
        .max_in_flight(2);
    assert_eq!(drawn.get(), 0, "nothing is drawn before the first poll");
    let seen: Vec<_> = clock
        .run(async {
            let mut seen = Vec::new();
            for at in [0, 29, 30, 99, 101, 110] {
                clock.advance(ms(at) - clock.elapsed());
                let _ = poll!(race.next());
                seen.push(drawn.get());
            }
            seen
        })
        .unwrap();
    // One is drawn ahead until 30, none while two are running; #0 finishes and #2 starts at 101.
    assert_eq!(seen, [2, 2, 2, 2, 2, 3]);
}

#[test]
fn no_candidate_is_drawn_if_the_first_is_ready_at_once() {
    let (clock, drawn) = (VirtualClock::new(), Cell::new(0));
    let attempts = (0..10).map(|_| {
        drawn.set(drawn.get() + 1);
        async {}
    });
    let race = Race::at(clock.timer()).of(ms(30), attempts);
    assert!(clock.run(race.first()).unwrap().is_some());
    assert_eq!(drawn.get(), 1);
}

#[test]
fn streamed_candidates_start_when_they_arrive_and_a_delay_apart() {
    for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
        let clock = VirtualClock::new();
        let starts = Trace::new(&clock);
        // They arrive at 0, 5, 5, and three at 335.
        let gaps = VecDeque::from([0, 5, 0, 295, 0, 0]);
        let arrivals = stream::unfold(gaps, |mut gaps| {
            let gap = gaps.pop_front().map(|gap| clock.sleep(ms(gap)));
            async move {
                gap?.await;
                Some(((), gaps))
            }
        });
        let run = |(): &()| starts.attempt(1);
        let race = Race::at(clock.timer()).from_stream(ms(20), run, arrivals.boxed_local());
        assert_eq!(clock.run(race.catch_up(catch_up).count()), Ok(6));
        assert_eq!(starts.millis(), [0, 20, 40, 335, 355, 375], "{catch_up:?}");
    }
}

#[test]
fn race_waits_for_its_stream_and_ends_with_it() {
    let clock = VirtualClock::new();
    let (sender, receiver) = mpsc::unbounded();
    let run = |millis: &u64| clock.sleep(ms(*millis));
    let mut race = Race::at(clock.timer()).from_stream(ms(20), run, receiver);
    clock
        .run(async {
            assert!(poll!(race.next()).is_pending(), "no candidate has arrived");
            sender.unbounded_send(7).unwrap();
            assert_eq!(race.next().await, Some((7, ())));
            assert!(poll!(race.next()).is_pending());
            drop(sender);
            assert_eq!(race.next().await, None);
        })
        .unwrap();
}

#[test]
fn delay_counts_from_the_last_start_and_not_from_the_arrival() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let (sender, receiver) = mpsc::unbounded();
    sender.unbounded_send(()).unwrap();
    let run = |(): &()| starts.attempt(1_000);
    let mut race = Race::at(clock.timer()).from_stream(ms(20), run, receiver);
    clock
        .run(async {
            assert!(poll!(race.next()).is_pending());
            clock.advance(ms(15));
            sender.unbounded_send(()).unwrap();
            drop(sender);
            race.next().await;
        })
        .unwrap();
    assert_eq!(starts.millis(), [0, 20]);
}

#[test]
fn empty_source_ends_at_once() {
    let clock = VirtualClock::new();
    let none = Vec::<std::future::Pending<()>>::new();
    assert_eq!(
        clock.run(Race::at(clock.timer()).of(ms(20), none).count()),
        Ok(0)
    );
    let mut never =
        Race::at(clock.timer()).from_stream(ms(20), |(): &()| pending::<()>(), stream::pending());
    assert!(
        clock.run(never.next()).is_err(),
        "the stream is pending, not empty"
    );
}

#[test]
fn from_fn_chooses_at_the_start_of_each_attempt() {
    let clock = VirtualClock::new();
    let mut calls = Vec::new();
    let race = Race::at(clock.timer()).from_fn(ms(50), |index| {
        calls.push((index, clock.elapsed()));
        pending::<()>()
    });
    let mut race = race.max_attempts(3).deadline(ms(500));
    assert_eq!(clock.run(race.next()), Ok(None));
    drop(race);
    assert_eq!(calls, [(0, ms(0)), (1, ms(50)), (2, ms(100))]);
}

#[test]
fn from_fn_is_not_called_for_an_attempt_that_does_not_start() {
    let clock = VirtualClock::new();
    let mut calls = 0;
    let race = Race::at(clock.timer()).from_fn(ms(50), |_| {
        calls += 1;
        clock.sleep(ms(70))
    });
    assert_eq!(clock.run(race.first()).unwrap().unwrap().index, 0);
    assert_eq!(calls, 2);
}

#[test]
fn from_fn_with_zero_delay_does_not_hang_a_poll() {
    let clock = VirtualClock::new();
    let mut race = Race::at(clock.timer()).from_fn(ms(0), |_| pending::<()>());
    clock
        .run(async {
            for _ in 0..10 {
                assert!(poll!(race.next()).is_pending());
            }
        })
        .unwrap();
    assert!(race.len() >= 10);
}

/// Numbers that wait for their start. The best may change until then.
struct Numbers {
    clock: VirtualClock,
    ready: VecDeque<u64>,
    better: Rc<RefCell<Vec<u64>>>,
    useless: Rc<RefCell<Vec<u64>>>,
}

impl SourceTypes for Numbers {
    type Candidate = u64;
    type Arg = u64;
    type Attempt = VirtualSleep;
}

impl Source for Numbers {
    type Output = ();

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<u64>> {
        Poll::Ready(self.ready.pop_front())
    }

    fn poll_reserve(&mut self, candidate: &mut u64, _: &mut Context<'_>) -> Poll<bool> {
        if let Some(better) = self.better.borrow_mut().pop() {
            self.ready.push_front(std::mem::replace(candidate, better));
        }
        Poll::Ready(!self.useless.borrow().contains(candidate))
    }

    fn attempt(&mut self, candidate: u64) -> (u64, VirtualSleep) {
        (candidate, self.clock.sleep(ms(candidate)))
    }
}

fn numbers<const N: usize>(clock: &VirtualClock, numbers: [u64; N]) -> Numbers {
    Numbers {
        clock: clock.clone(),
        ready: numbers.into(),
        better: Rc::default(),
        useless: Rc::default(),
    }
}

#[test]
fn candidate_that_waits_is_replaced_with_a_better_one() {
    let clock = VirtualClock::new();
    let source = numbers(&clock, [500, 600, 700]);
    let better = source.better.clone();
    let mut race = Race::at(clock.timer()).from_source(ms(50), source);
    clock
        .run(async {
            assert!(poll!(race.next()).is_pending());
            better.borrow_mut().push(5); // arrives while 600 is in hand
            assert_eq!(race.next().await, Some((5, ())));
            assert_eq!(clock.elapsed(), ms(55));
            assert_eq!(race.next().await, Some((500, ())));
            assert_eq!(race.next().await, Some((600, ())));
        })
        .unwrap();
}

#[test]
fn candidate_that_is_taken_back_is_neither_started_nor_charged() {
    let clock = VirtualClock::new();
    let source = numbers(&clock, [500, 600, 20]);
    let useless = source.useless.clone();
    let budget = Budget::percent(0).reserve(1);
    let mut race = Race::at(clock.timer())
        .from_source(ms(50), source)
        .budget(&budget);
    clock
        .run(async {
            assert!(poll!(race.next()).is_pending());
            useless.borrow_mut().push(600);
            assert_eq!(race.next().await, Some((20, ())));
            assert_eq!(clock.elapsed(), ms(70));
        })
        .unwrap();
}

#[test]
fn race_whose_candidates_are_all_taken_back_had_none() {
    let clock = VirtualClock::new();
    let source = numbers(&clock, [1, 2]);
    source.useless.borrow_mut().extend([1, 2]);
    let race = Race::at(clock.timer()).from_source(ms(50), source);
    let ended = clock.run(race.first_by(|()| Verdict::Accept)).unwrap();
    assert!(matches!(ended, Err(RaceError::NoCandidates)), "{ended:?}");
}

#[test]
fn quorum_ends_when_too_few_candidates_are_left_after_one_was_taken_back() {
    let clock = VirtualClock::new();
    let source = numbers(&clock, [10, 20, 30]);
    source.useless.borrow_mut().push(20);
    let race = Race::at(clock.timer()).from_source(ms(5), source);
    let ended = clock.run(race.quorum_by(3, |()| Verdict::Accept)).unwrap();
    assert!(
        matches!(ended, Err(QuorumError::OutOfReach(_))),
        "{ended:?}"
    );
    assert_eq!(clock.elapsed(), ms(5));
}

#[test]
fn endless_source_that_takes_everything_back_yields() {
    struct Never;
    impl SourceTypes for Never {
        type Candidate = ();
        type Arg = ();
        type Attempt = std::future::Pending<()>;
    }
    impl Source for Never {
        type Output = ();
        fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<()>> {
            Poll::Ready(Some(()))
        }
        fn poll_reserve(&mut self, (): &mut (), _: &mut Context<'_>) -> Poll<bool> {
            Poll::Ready(false)
        }
        fn attempt(&mut self, (): ()) -> ((), Self::Attempt) {
            ((), pending())
        }
    }
    let clock = VirtualClock::new();
    let mut race = Race::at(clock.timer()).from_source(ms(0), Never);
    assert!(race.next().now_or_never().is_none());
    let mut first = Race::at(clock.timer())
        .from_source(ms(0), Never)
        .first_by(|()| Verdict::Accept);
    assert!((&mut first).now_or_never().is_none());
}
