use loom::{model, sync::Arc, thread};

use super::*;

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
