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

#[test]

fn one_that_always_drains_the_budget_does_not_starve_the_others() {
    run(async {
        for size in [2, 61, 62, 200] {
            let count = Rc::new(Cell::new(0));
            let mut set = Attempts::new();
            set.push(0, uses(usize::MAX, count.clone()));
            (1..size).for_each(|place| set.push(place, uses(1, Rc::default())));
            for _ in 1..size {
                let is_late = async {
                    while count.get() < 128 * 10_000 {
                        tokio::task::yield_now().await;
                    }
                };
                tokio::select! {
                    biased;
                    next = set.next() => assert_ne!(next.unwrap().0, 0),
                    () = is_late => panic!("the first was polled 10,000 times, the others starve"),
                }
            }
        }
    });
}
