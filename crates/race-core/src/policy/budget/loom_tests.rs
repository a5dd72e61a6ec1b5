use loom::{model, sync::Arc, thread};

use super::*;

/// The start reserve pays twice, whatever the order in which two races draw on it.
#[test]
fn no_top_up_is_lost_or_made_twice() {
    model(|| {
        let budget = Arc::new(Budget::percent(0).start_reserve(2));
        let hedge = |budget: &Budget| {
            budget.deposit();
            usize::from(budget.withdraw())
        };
        let threads = [(); 2].map(|()| {
            let budget = budget.clone();
            thread::spawn(move || hedge(&budget))
        });
        let paid = threads.map(|thread| thread.join().expect("no panic"));
        let later: usize = (0..12).map(|_| hedge(&budget)).sum();
        assert_eq!(paid.iter().sum::<usize>() + later, 2);
    });
}

#[test]
fn no_deposit_is_withdrawn_twice() {
    model(|| {
        let budget = Arc::new(Budget::percent(50).reserve(1).savings(1));
        let threads = [(); 2].map(|()| {
            let budget = budget.clone();
            thread::spawn(move || {
                budget.deposit();
                budget.withdraw()
            })
        });
        let paid = threads.map(|thread| usize::from(thread.join().expect("no panic")));
        assert_eq!(paid.iter().sum::<usize>() + budget.balance(), 2);
    });
}
