//! Races of a tuple: futures of different types with one output type.

use std::{cell::RefCell, future::ready, rc::Rc};

use race::{
    InlineRace,
    core::Race,
    source::{Either, Of},
    test::{VirtualClock, VirtualSleep},
};

use crate::probe::ms;

async fn after(sleep: VirtualSleep, answer: &str) -> Result<&str, String> {
    sleep.await;
    Ok(answer)
}

async fn refused(sleep: VirtualSleep) -> Result<&'static str, String> {
    sleep.await;
    Err("refused".into())
}

#[test]
fn futures_of_a_tuple_start_in_their_order_and_the_fastest_wins() {
    let clock = VirtualClock::new();
    let attempts = (
        refused(clock.sleep(ms(5))),
        after(clock.sleep(ms(300)), "slow"),
        after(clock.sleep(ms(20)), "fast"),
    );
    let race = Race::at(clock.timer()).of(ms(50), attempts);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.arg, won.index, won.output), (2, 2, "fast"));
    assert_eq!(won.elapsed, ms(5 + 50 + 20));
}

#[test]
fn tuple_of_twelve_runs_each_future_once_and_in_order() {
    let clock = VirtualClock::new();
    let polled = Rc::new(RefCell::new(vec![]));
    let note = |number: u32| {
        let polled = polled.clone();
        async move {
            polled.borrow_mut().push(number);
            number
        }
    };
    // Twelve types: `async` blocks and functions differ even if their text is the same.
    let attempts = (
        async { note(0).await },
        async { note(1).await },
        async { note(2).await },
        async { note(3).await },
        async { note(4).await },
        async { note(5).await },
        async { note(6).await },
        async { note(7).await },
        async { note(8).await },
        async { note(9).await },
        ready(10),
        note(11),
    );
    let mut race = Race::at(clock.timer()).of(ms(10), attempts);
    let outputs = clock.run(async {
        let mut outputs = vec![];
        while let Some(output) = race.next().await {
            outputs.push(output);
        }
        outputs
    });
    let all: Vec<_> = (0..12).map(|index| (index as usize, index)).collect();
    assert_eq!(outputs, Ok(all));
    assert_eq!(*polled.borrow(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
}

#[test]
fn race_of_a_tuple_in_a_spawned_future_borrows_from_it() {
    fn spawned<F: Future + Send + 'static>(future: F) -> F {
        future
    }
    let clock = VirtualClock::new();
    let (timer, sleeps) = (
        clock.timer(),
        [300, 20].map(|latency| clock.sleep(ms(latency))),
    );
    let task = spawned(async move {
        let texts = [String::from("one"), String::from("two")];
        let [first, second] = sleeps;
        let attempts = (after(first, &texts[0]), async {
            second.await;
            Ok::<_, String>(texts[1].as_str())
        });
        let race = Race::at(timer).of(ms(50), attempts);
        race.first_ok().await.map(|won| won.output.len())
    });
    assert_eq!(clock.run(task).unwrap().unwrap(), 3);
    assert_eq!(clock.elapsed(), ms(70));
}

#[test]
fn tuple_races_inline_and_its_source_can_be_named() {
    type Two = Either<VirtualSleep, std::future::Ready<()>>;
    type Source = Of<std::array::IntoIter<Two, 2>, Two>;
    let clock = VirtualClock::new();
    let attempts = (clock.sleep(ms(100)), ready(()));
    let race: InlineRace<2, Source, _> = InlineRace::at(clock.timer()).of(ms(50), attempts);
    let won = clock.run(race.first()).unwrap().unwrap();
    assert_eq!((won.index, won.elapsed), (1, ms(50)));
}
