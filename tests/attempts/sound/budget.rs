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
fn some_that_always_drain_the_budget_do_not_starve_the_others() {
    run(async {
        for (size, hogs) in [(2, 1), (5, 3), (61, 1), (62, 2), (200, 1), (200, 70)] {
            let count = Rc::new(Cell::new(0));
            let mut set = Attempts::new();
            (0..hogs).for_each(|place| set.push(place, uses(usize::MAX, count.clone())));
            (hogs..size).for_each(|place| set.push(place, uses(1, Rc::default())));
            for _ in hogs..size {
                let is_late = async {
                    while count.get() < 128 * 10_000 {
                        tokio::task::yield_now().await;
                    }
                };
                tokio::select! {
                    biased;
                    next = set.next() => assert!(next.unwrap().0 >= hogs),
                    () = is_late => panic!("{hogs} of {size} keep the others from their turn"),
                }
            }
        }
    });
}

#[test]
fn one_that_drains_the_budget_in_most_polls_does_not_starve_the_others() {
    run(async {
        let (count, steps) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let mut set = Attempts::new();
        // Comes before the one that drains, but not each time.
        let now_and_then = async {
            loop {
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                steps.set(steps.get() + 1);
            }
        };
        set.push(0, now_and_then.boxed_local());
        set.push(1, uses(usize::MAX, count.clone()));
        set.push(2, uses(1, Rc::default()));
        let mut polls = 0;
        let next = std::future::poll_fn(|cx| {
            polls += 1;
            assert!(polls < 10_000, "the last is kept from its turn");
            std::pin::pin!(set.next()).poll(cx)
        });
        assert_eq!(next.await.unwrap().0, 2);
    });
}
