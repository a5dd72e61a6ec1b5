//! What compiles, and what a race is.

use std::{error::Error, pin::pin, rc::Rc, sync::Arc, time::Duration};

use futures::{StreamExt, stream::FusedStream};
use race::{
    Backoff, Budget, Budgeted, Observed, VirtualClock, VirtualTimer, core::Race, source::Source,
};

use crate::probe::ms;

fn is_send<T: Send>(it: T) -> T {
    it
}

fn is_unpin<T: Unpin>(it: T) -> T {
    it
}

#[test]
fn a_race_is_send_when_its_parts_are() {
    let clock = VirtualClock::new();
    let fails = || async { Err::<(), Box<dyn Error + Send>>(Box::new(std::fmt::Error)) };
    let attempts = [0, 1].map(|_| fails());
    let race = is_send(Race::of_with(clock.timer(), ms(1), attempts));
    assert!(clock.run(is_send(race.first_ok())).unwrap().is_err());
    is_send(Race::new_with(
        clock.timer(),
        ms(1),
        |_: &std::cell::Cell<u8>| async {},
        [],
    ));
}

#[test]
fn a_race_with_every_rule_is_send_and_unpin_and_its_type_can_be_written() {
    let clock = VirtualClock::new();
    let budget = Arc::new(Budget::percent(10).reserve(1));
    let attempts = [Ok::<_, ()>(1), Ok(2)].map(std::future::ready);
    type Rules = Observed<Budgeted<Backoff, Arc<Budget>>, (), VirtualClock>;
    let race: Race<_, VirtualTimer, Rules> = Race::of_with(clock.timer(), ms(1), attempts)
        .policy(Backoff::new(ms(1)))
        .budget(budget)
        .observer_with(clock.clone(), ());
    let race = race.gate(|_| true).min_gap(ms(1)).max_attempts(2);
    let quorum = is_unpin(is_send(race)).quorum(2).deadline(ms(9));
    let quorum = is_unpin(is_send(quorum.attempt_timeout(ms(5))));
    assert_eq!(clock.run(quorum).unwrap().unwrap().len(), 2);
}

// Not for what holds an `Rc`: the second impl would make the call below ambiguous.
trait NotSend<A> {
    fn not_send(&self) {}
}
impl<T> NotSend<()> for T {}
impl<T: Send> NotSend<u8> for T {}

#[test]
fn rc_arguments_and_futures_compile_and_are_not_send() {
    let clock = VirtualClock::new();
    let run = |text: &Rc<str>| {
        let text = text.clone();
        async move { text.len() }
    };
    let mut race = Race::new_with(clock.timer(), ms(1), run, [Rc::<str>::from("four")]);
    race.not_send();
    assert_eq!(clock.run(race.next()), Ok(Some(("four".into(), 4))));
}

#[test]
fn attempts_borrow_from_the_stack_and_count_in_the_generator() {
    let (clock, words) = (VirtualClock::new(), ["to".to_owned(), "be".to_owned()]);
    let (words, mut made) = (&words, 0);
    let run = |index: &usize| {
        made += 1; // FnMut
        let index = *index;
        async move { &words[index] }
    };
    let race = Race::new_with(clock.timer(), ms(1), run, 0..2);
    let out: Vec<&String> = clock.run(race.map(|(_, word)| word).collect()).unwrap();
    assert_eq!((out, made), (words.iter().collect(), 2));
}

#[test]
fn arguments_may_be_borrowed() {
    let (clock, words) = (VirtualClock::new(), ["to".to_owned(), "be".to_owned()]);
    let race = Race::new_with(clock.timer(), ms(1), |&word| async { word.len() }, &words);
    let out: Vec<_> = clock.run(race.collect()).unwrap();
    assert_eq!(out, [(&words[0], 2), (&words[1], 2)]);
}

#[test]
fn next_needs_no_pinning_though_the_attempts_do() {
    let clock = VirtualClock::new();
    let pinned = |_: &u8| async {
        let mut sleep = pin!(clock.sleep(ms(1))); // such a future is not `Unpin`
        sleep.as_mut().await;
    };
    let mut race = is_unpin(Race::new_with(clock.timer(), ms(1), pinned, [0]));
    let of_the_trait = StreamExt::next(&mut race);
    assert_eq!(clock.run(of_the_trait), Ok(Some((0, ()))));
    assert!(clock.run(race.next()).unwrap().is_none());
}

struct Client {
    answers: Race<race::source::Of<std::vec::IntoIter<std::future::Ready<u8>>>, VirtualTimer>,
}

fn all_of(
    clock: &VirtualClock,
) -> Race<impl Source<Arg = usize, Output = ()> + use<>, VirtualTimer> {
    Race::of_with(clock.timer(), Duration::ZERO, [clock.sleep(ms(1))])
}

#[test]
fn a_race_can_be_named() {
    let clock = VirtualClock::new();
    let attempts = vec![std::future::ready(3)];
    let mut client = Client {
        answers: Race::of_with(clock.timer(), ms(1), attempts),
    };
    assert_eq!(clock.run(client.answers.next()), Ok(Some((0, 3))));
    assert_eq!(clock.run(all_of(&clock).next()), Ok(Some((0, ()))));
}

#[test]
fn select_next_some_works_until_the_end() {
    let clock = VirtualClock::new();
    let mut race = Race::of_with(clock.timer(), ms(1), [clock.sleep(ms(1))]);
    clock
        .run(async {
            while !race.is_terminated() {
                futures::select! {
                    (place, ()) = race.select_next_some() => assert_eq!(place, 0),
                    complete => break,
                }
            }
        })
        .unwrap();
}
