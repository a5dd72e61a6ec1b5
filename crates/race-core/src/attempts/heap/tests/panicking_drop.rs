use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

fn panics<T>(run: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

/// Futures and arguments are dropped once, except those in `kept`, which are in the set.
fn check_drops(controls: &[Rc<Control>], kept: impl Fn(usize) -> bool) {
    for (index, control) in controls.iter().enumerate() {
        let drops = usize::from(!kept(index));
        let counts = (control.drops.get(), control.arg_drops.get());
        assert_eq!(counts, (drops, drops), "{index} of {}", controls.len());
    }
}

#[test]
fn dropping_the_set_drops_all_attempts_though_one_panics() {
    for count in SIZES {
        for victim in [0, count / 2, count - 1] {
            let (set, controls, task) = polled(count);
            controls[victim].panics_in_drop.set(true);
            assert!(panics(|| drop(set)));
            check_drops(&controls, |_| false);
            drop(controls);
            assert_eq!(Arc::strong_count(&task), 1);
        }
    }
}

#[test]
fn removing_an_attempt_that_panics_keeps_the_others() {
    for count in SIZES {
        for victim in [0, count / 2, count - 1] {
            let (mut set, controls, task) = polled(count);
            controls[victim].panics_in_drop.set(true);
            assert!(panics(|| remove(&mut set, victim)));
            check_drops(&controls, |index| index != victim);
            check_rest(set, &controls, victim, &task);
        }
    }
}

#[test]
fn finished_attempt_that_panics_in_its_drop_keeps_the_others() {
    for count in SIZES {
        for victim in [0, count / 2, count - 1] {
            let (mut set, controls, task) = polled(count);
            controls[victim].panics_in_drop.set(true);
            controls[victim].ready.set(true);
            controls[victim].wake();
            assert!(panics(|| poll(&mut set, &task)));
            check_drops(&controls, |index| index != victim);
            check_rest(set, &controls, victim, &task);
        }
    }
}

/// Without the victim, the set works as before.
fn check_rest(mut set: Set, controls: &[Rc<Control>], victim: usize, task: &Arc<Task>) {
    assert_eq!(set.len(), controls.len() - 1);
    for (index, control) in controls.iter().enumerate() {
        if index == victim {
            continue;
        }
        control.ready.set(true);
        control.wake();
        assert_eq!(poll(&mut set, task), Poll::Ready(Some(index)));
    }
    assert_eq!(poll(&mut set, task), Poll::Ready(None));
    check_drops(controls, |_| false);
}
