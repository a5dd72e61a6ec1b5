//! Which types compile, and the auto traits of a race.

use std::{error::Error, future::Ready, pin::pin, rc::Rc, sync::Arc, time::Duration};

use futures::{StreamExt, stream::FusedStream};
use race::{
    Backoff, Budget,
    core::{
        Race,
        observe::Observed,
        policy::{Charge, WithBackoff},
    },
    source::{Of, Source},
    test::{VirtualClock, VirtualSleep, VirtualTimer},
};

use crate::probe::ms;

fn is_send<T: Send>(it: T) -> T {
    it
}

fn is_unpin<T: Unpin>(it: T) -> T {
    it
}

#[test]
fn race_is_send_if_its_parts_are() {
    let clock = VirtualClock::new();
    let fails = || async { Err::<(), Box<dyn Error + Send>>(Box::new(std::fmt::Error)) };
    let attempts = [0, 1].map(|_| fails());
    let race = is_send(Race::at(clock.timer()).of(ms(1), attempts));
    assert!(clock.run(is_send(race.first_ok())).unwrap().is_err());
    is_send(Race::at(clock.timer()).new(ms(1), |_: &std::cell::Cell<u8>| async {}, []));
}

#[test]
fn race_with_every_option_is_send_and_unpin_and_has_a_writable_type() {
    let clock = VirtualClock::new();
    let budget = Arc::new(Budget::percent(10).reserve(1));
    let attempts = [Ok::<_, ()>(1), Ok(2)].map(std::future::ready);
    type Policy = WithBackoff<Duration>;
    type Hooks = (((), Charge<Arc<Budget>>), Observed<(), VirtualClock>);
    let race: Race<_, VirtualTimer, Policy, Hooks> = Race::at(clock.timer())
        .of(ms(1), attempts)
        .backoff(Backoff::new(ms(1)))
        .budget(budget)
        .observer_with(clock.clone(), ());
    let race = race.gate(|_| true).min_gap(ms(1)).max_attempts(2);
    let race = race.deadline(ms(9)).attempt_timeout(ms(5));
    let quorum = is_unpin(is_send(is_unpin(is_send(race)).quorum(2)));
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
    let mut race = Race::at(clock.timer()).new(ms(1), run, [Rc::<str>::from("four")]);
    race.not_send();
    assert_eq!(clock.run(race.next()), Ok(Some(("four".into(), 4))));
}

#[test]
fn attempts_borrow_from_the_stack_and_run_is_fn_mut() {
    let (clock, words) = (VirtualClock::new(), ["to".to_owned(), "be".to_owned()]);
    let (words, mut made) = (&words, 0);
    let run = |index: &usize| {
        made += 1; // FnMut
        let index = *index;
        async move { &words[index] }
    };
    let race = Race::at(clock.timer()).new(ms(1), run, 0..2);
    let out: Vec<&String> = clock.run(race.map(|(_, word)| word).collect()).unwrap();
    assert_eq!((out, made), (words.iter().collect(), 2));
}

#[test]
fn arguments_can_be_borrowed() {
    let (clock, words) = (VirtualClock::new(), ["to".to_owned(), "be".to_owned()]);
    let race = Race::at(clock.timer()).new(ms(1), |&word| async { word.len() }, &words);
    let out: Vec<_> = clock.run(race.collect()).unwrap();
    assert_eq!(out, [(&words[0], 2), (&words[1], 2)]);
}

#[test]
fn next_needs_no_pinning_for_attempts_that_are_not_unpin() {
    let clock = VirtualClock::new();
    let pinned = |_: &u8| async {
        let mut sleep = pin!(clock.sleep(ms(1))); // such a future is not `Unpin`
        sleep.as_mut().await;
    };
    let mut race = is_unpin(Race::at(clock.timer()).new(ms(1), pinned, [0]));
    let of_the_trait = StreamExt::next(&mut race);
    assert_eq!(clock.run(of_the_trait), Ok(Some((0, ()))));
    assert!(clock.run(race.next()).unwrap().is_none());
}

#[test]
fn boxed_timer_can_be_shared_cloned_and_spawned() {
    fn is_shared<T: Clone + Send + Sync + Unpin + std::fmt::Debug + 'static>(_: &T) {}
    is_shared(&race::BoxTimer::new(VirtualClock::new().timer()));
}

struct Client {
    answers: Race<Of<std::vec::IntoIter<Ready<u8>>, Ready<u8>>, VirtualTimer>,
}

fn all_of(
    clock: &VirtualClock,
) -> Race<Of<impl Iterator<Item = VirtualSleep> + use<>, VirtualSleep>, VirtualTimer> {
    Race::at(clock.timer()).of(Duration::ZERO, [clock.sleep(ms(1))])
}

#[test]
fn a_race_can_be_named() {
    let clock = VirtualClock::new();
    let attempts = vec![std::future::ready(3)];
    let mut client = Client {
        answers: Race::at(clock.timer()).of(ms(1), attempts),
    };
    assert_eq!(clock.run(client.answers.next()), Ok(Some((0, 3))));
    assert_eq!(clock.run(all_of(&clock).next()), Ok(Some((0, ()))));
}

#[test]
fn select_next_some_works_until_the_end() {
    let clock = VirtualClock::new();
    let mut race = Race::at(clock.timer()).of(ms(1), [clock.sleep(ms(1))]);
    clock
        .run(async {
            while !race.is_terminated() {
                futures::select! {
                    (index, ()) = race.select_next_some() => assert_eq!(index, 0),
                    complete => break,
                }
            }
        })
        .unwrap();
}

#[test]
fn function_returns_race_of_an_opaque_source() {
    fn race(clock: &VirtualClock) -> Race<impl Source<Output = u64> + use<>, VirtualTimer> {
        let run = |&number: &u64| async move { number * number };
        Race::at(clock.timer()).new(ms(1), run, [3, 4])
    }
    let clock = VirtualClock::new();
    let won = clock.run(race(&clock).first()).unwrap().unwrap();
    assert_eq!(won.output, 9);
}
