//! Futures that exhaust tokio's cooperative budget, which is shared by all futures of a task.

use std::{cell::Cell, rc::Rc};

use futures::{FutureExt, future::LocalBoxFuture};
use race::Attempts;
use tokio::task::consume_budget;

/// Consumes this many units of the budget, and counts them.
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
fn set_of_futures_that_exhaust_the_budget_makes_progress() {
    run(async {
        for size in [1, 2, 64, 65, 200] {
            let count = Rc::new(Cell::new(0));
            let mut set = Attempts::new();
            (0..size).for_each(|index| set.push_with(index, uses(300, count.clone())));
            let mut out = 0;
            while set.next().await.is_some() {
                out += 1;
            }
            assert_eq!((out, count.get()), (size, size * 300));
        }
    });
}

/// Awaits all futures except those with an argument below `hogs`, which exhaust the budget forever.
async fn drain_others(set: &mut Attempts<LocalBoxFuture<'static, ()>, usize>, hogs: usize) {
    let mut polls = 0;
    while set.len() > hogs {
        let next = std::future::poll_fn(|cx| {
            polls += 1;
            assert!(polls < 100_000, "{hogs} futures starve the others");
            std::pin::pin!(set.next()).poll(cx)
        });
        assert!(next.await.unwrap().0 >= hogs);
    }
}

#[test]
fn futures_that_always_exhaust_the_budget_do_not_starve_the_others() {
    run(async {
        for units in [1, 129, 400] {
            for (size, hogs) in [(2, 1), (5, 3), (64, 1), (65, 2), (100, 1), (100, 70)] {
                let mut set = Attempts::new();
                (0..hogs).for_each(|index| set.push_with(index, uses(usize::MAX, Rc::default())));
                (hogs..size).for_each(|index| set.push_with(index, uses(units, Rc::default())));
                drain_others(&mut set, hogs).await;
            }
        }
    });
}

#[test]
fn future_in_a_lower_slot_is_not_starved() {
    run(async {
        let mut set = Attempts::new();
        set.push_with(7, uses(0, Rc::default()));
        set.push_with(0, uses(usize::MAX, Rc::default()));
        assert_eq!(set.next().await.unwrap().0, 7);
        set.push_with(8, uses(300, Rc::default())); // takes slot 0
        drain_others(&mut set, 1).await;
    });
}

#[test]
fn future_beyond_the_first_group_is_not_starved() {
    run(async {
        let mut set = Attempts::new();
        (0..64).for_each(|index| set.push_with(index, std::future::pending().boxed_local()));
        set.push_with(64, uses(usize::MAX, Rc::default()));
        set.push_with(65, uses(300, Rc::default()));
        drain_others(&mut set, 65).await;
    });
}

#[test]
fn future_that_exhausts_the_budget_in_most_polls_does_not_starve_the_others() {
    run(async {
        for pause in [1, 2, 10, 30] {
            let mut set = Attempts::new();
            // Polled before the future that exhausts the budget, but not in each round.
            let now_and_then = async move {
                loop {
                    for _ in 0..pause {
                        tokio::task::yield_now().await;
                    }
                }
            };
            set.push_with(0, now_and_then.boxed_local());
            set.push_with(1, uses(usize::MAX, Rc::default()));
            set.push_with(2, uses(300, Rc::default()));
            drain_others(&mut set, 2).await;
        }
    });
}

#[test]
fn inline_race_rotates_the_starting_slot() {
    run(async {
        let attempts = (0..2).map(|index| uses([usize::MAX, 300][index], Rc::default()));
        let timer = race::tokio::TokioTimer::new();
        let race = race::InlineRace::<2, _, _>::at(timer).of(std::time::Duration::ZERO, attempts);
        let mut first = std::pin::pin!(race.first());
        let mut polls = 0;
        let won = std::future::poll_fn(|cx| {
            polls += 1;
            assert!(polls < 10_000, "the first attempt starves the second");
            first.as_mut().poll(cx)
        });
        assert_eq!(won.await.unwrap().index, 1);
    });
}
