//! Under tokio's cooperative budget, which all that one task polls share.

use std::{cell::Cell, rc::Rc};

use futures::{FutureExt, future::LocalBoxFuture};
use race::Attempts;
use tokio::task::consume_budget;

/// Uses up so much of the budget, and counts.
fn uses(units: usize, count: Rc<Cell<usize>>) -> LocalBoxFuture<'static, ()> {
    async move {
        for _ in 0..units {
            consume_budget().await;
            count.set(count.get() + 1);
        }
    }
    .boxed_local()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    { runtime }.build().unwrap().block_on(future)
}

#[test]
fn a_set_in_which_all_drain_the_budget_makes_progress() {
    run(async {
        for size in [1, 2, 61, 62, 200] {
            let count = Rc::new(Cell::new(0));
            let mut set = Attempts::new();
            (0..size).for_each(|place| set.push(place, uses(300, count.clone())));
            let mut out = 0;
            while set.next().await.is_some() {
                out += 1;
            }
            assert_eq!((out, count.get()), (size, size * 300));
        }
    });
}

/// Takes all but those that drain the budget for ever, which are the arguments below `hogs`.
async fn drain_others(set: &mut Attempts<LocalBoxFuture<'static, ()>, usize>, hogs: usize) {
    let mut polls = 0;
    while set.len() > hogs {
        let next = std::future::poll_fn(|cx| {
            polls += 1;
            assert!(polls < 100_000, "{hogs} keep the others from their turn");
            std::pin::pin!(set.next()).poll(cx)
        });
        assert!(next.await.unwrap().0 >= hogs);
    }
}

#[test]
fn some_that_always_drain_the_budget_do_not_starve_the_others() {
    run(async {
        for units in [1, 129, 400] {
            for (size, hogs) in [(2, 1), (5, 3), (61, 1), (62, 2), (100, 1), (100, 70)] {
                let mut set = Attempts::new();
                (0..hogs).for_each(|place| set.push(place, uses(usize::MAX, Rc::default())));
                (hogs..size).for_each(|place| set.push(place, uses(units, Rc::default())));
                drain_others(&mut set, hogs).await;
            }
        }
    });
}

#[test]
fn one_in_an_older_slot_is_not_starved_either() {
    run(async {
        let mut set = Attempts::new();
        set.push(7, uses(0, Rc::default()));
        set.push(0, uses(usize::MAX, Rc::default()));
        assert_eq!(set.next().await.unwrap().0, 7);
        set.push(8, uses(300, Rc::default())); // in the slot of the first
        drain_others(&mut set, 1).await;
    });
}

#[test]
fn those_beyond_the_first_group_are_not_starved_either() {
    run(async {
        let mut set = Attempts::new();
        (0..61).for_each(|place| set.push(place, std::future::pending().boxed_local()));
        set.push(61, uses(usize::MAX, Rc::default()));
        set.push(62, uses(300, Rc::default()));
        drain_others(&mut set, 62).await;
    });
}

#[test]
fn one_that_drains_the_budget_in_most_polls_does_not_starve_the_others() {
    run(async {
        for pause in [1, 2, 10, 30] {
            let mut set = Attempts::new();
            // Comes before the one that drains, but not each time.
            let now_and_then = async move {
                loop {
                    for _ in 0..pause {
                        tokio::task::yield_now().await;
                    }
                }
            };
            set.push(0, now_and_then.boxed_local());
            set.push(1, uses(usize::MAX, Rc::default()));
            set.push(2, uses(300, Rc::default()));
            drain_others(&mut set, 2).await;
        }
    });
}

#[test]
fn a_race_in_place_goes_round() {
    run(async {
        let attempts = (0..2).map(|place| uses([usize::MAX, 300][place], Rc::default()));
        let timer = race::tokio::TokioTimer::new();
        let race = race::InlineRace::<2, _, _>::of_with(timer, std::time::Duration::ZERO, attempts);
        let mut first = std::pin::pin!(race.first());
        let mut polls = 0;
        let won = std::future::poll_fn(|cx| {
            polls += 1;
            assert!(polls < 10_000, "the first keeps the second from its turn");
            first.as_mut().poll(cx)
        });
        assert_eq!(won.await.unwrap().place, 1);
    });
}
