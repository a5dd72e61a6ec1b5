use std::{cell::Cell, collections::VecDeque, future::pending, time::Duration};

use futures::{FutureExt, StreamExt, channel::mpsc, poll, stream};
use race::{CatchUp, VirtualClock, core::Race};

use crate::probe::{Trace, ms};

#[test]
fn each_argument_comes_back_with_its_output() {
    let clock = VirtualClock::new();
    let words = ["three".to_owned(), "a".to_owned(), "of".to_owned()];
    let run = |word: &String| {
        let length = word.len();
        clock.sleep(ms(length as u64)).map(move |()| length)
    };
    let race = Race::new_with(clock.timer(), Duration::ZERO, run, words);
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
    let mut race = Race::of_with(clock.timer(), ms(30), attempts).max_in_flight(2);
    assert_eq!(drawn.get(), 0, "not before the first poll");
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
    // One ahead while waiting for 30; none at the bound; #0 out at 101; #2 started, at the bound.
    assert_eq!(seen, [2, 2, 2, 2, 2, 3]);
}

#[test]
fn a_candidate_is_not_drawn_while_the_first_is_ready_at_once() {
    let (clock, drawn) = (VirtualClock::new(), Cell::new(0));
    let attempts = (0..10).map(|_| {
        drawn.set(drawn.get() + 1);
        async {}
    });
    let race = Race::of_with(clock.timer(), ms(30), attempts);
    assert!(clock.run(race.first()).unwrap().is_ok());
    assert_eq!(drawn.get(), 1);
}

#[test]
fn a_stream_of_candidates_starts_each_as_it_arrives_but_no_sooner_than_a_step() {
    for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
        let clock = VirtualClock::new();
        let starts = Trace::new(&clock);
        // They arrive at 0, 5, 5, and three at 335, when the consumer has long been waiting.
        let gaps = VecDeque::from([0, 5, 0, 295, 0, 0]);
        let arrivals = stream::unfold(gaps, |mut gaps| {
            let gap = gaps.pop_front().map(|gap| clock.sleep(ms(gap)));
            async move {
                gap?.await;
                Some(((), gaps))
            }
        });
        let run = |(): &()| starts.attempt(1);
        let race = Race::from_stream_with(clock.timer(), ms(20), run, arrivals.boxed_local());
        assert_eq!(clock.run(race.catch_up(catch_up).count()), Ok(6));
        assert_eq!(starts.millis(), [0, 20, 40, 335, 355, 375], "{catch_up:?}");
    }
}

#[test]
fn a_race_whose_stream_is_quiet_waits_and_ends_with_it() {
    let clock = VirtualClock::new();
    let (sender, receiver) = mpsc::unbounded();
    let run = |millis: &u64| clock.sleep(ms(*millis));
    let mut race = Race::from_stream_with(clock.timer(), ms(20), run, receiver);
    clock
        .run(async {
            assert!(
                poll!(race.next()).is_pending(),
                "nothing there, nothing lost"
            );
            sender.unbounded_send(7).unwrap();
            assert_eq!(race.next().await, Some((7, ())));
            assert!(poll!(race.next()).is_pending());
            drop(sender);
            assert_eq!(race.next().await, None);
        })
        .unwrap();
}

#[test]
fn a_held_candidate_keeps_its_time_while_the_stream_is_quiet() {
    // The gap counts from the start before, not from when the next candidate arrived.
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let (sender, receiver) = mpsc::unbounded();
    sender.unbounded_send(()).unwrap();
    let run = |(): &()| starts.attempt(1_000);
    let mut race = Race::from_stream_with(clock.timer(), ms(20), run, receiver);
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
fn an_empty_source_ends_at_once() {
    let clock = VirtualClock::new();
    let none = Vec::<std::future::Pending<()>>::new();
    assert_eq!(
        clock.run(Race::of_with(clock.timer(), ms(20), none).count()),
        Ok(0)
    );
    let mut never = Race::from_stream_with(
        clock.timer(),
        ms(20),
        |(): &()| pending::<()>(),
        stream::pending(),
    );
    assert!(clock.run(never.next()).is_err(), "not empty, only late");
}
