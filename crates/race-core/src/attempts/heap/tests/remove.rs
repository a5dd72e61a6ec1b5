use super::*;

#[test]
fn each_attempt_can_be_removed_once_and_the_others_finish() {
    for count in SIZES {
        for victim in [0, count / 2, count - 1] {
            let (mut set, controls, task) = polled(count);
            assert_eq!(remove(&mut set, victim), Some(victim));
            assert_eq!(controls[victim].drops.get(), 1);
            assert_eq!(remove(&mut set, victim), None);
            assert_eq!(set.len(), count - 1);
            for (index, control) in controls.iter().enumerate() {
                control.ready.set(true);
                control.wake(); // also the waker of the removed attempt
                let expected = (index != victim).then_some(index);
                match expected {
                    Some(_) => assert_eq!(poll(&mut set, &task), Poll::Ready(expected)),
                    None => assert_eq!(control.polls.get(), 1),
                }
            }
            assert_eq!(poll(&mut set, &task), Poll::Ready(None));
        }
    }
}

#[test]
fn woken_attempt_removed_during_a_round_is_not_polled() {
    for count in SIZES.into_iter().filter(|count| *count > 2) {
        let (mut set, controls, task) = polled(count);
        controls[0].ready.set(true);
        for index in [0, 1, count - 1] {
            controls[index].wake();
        }
        assert_eq!(poll(&mut set, &task), Poll::Ready(Some(0)));
        for victim in [count - 1, 1] {
            if controls[victim].drops.get() == 0 {
                assert_eq!(remove(&mut set, victim), Some(victim));
            }
        }
        let left = set.len();
        // The slots are free. An attempt that is pushed into one of them is polled.
        let new: Rc<Control> = Rc::default();
        push(&mut set, count, &new);
        assert!(poll(&mut set, &task).is_pending());
        assert_eq!((new.polls.get(), set.len()), (1, left + 1));
        for victim in [count - 1, 1] {
            assert_eq!(controls[victim].polls.get(), 1, "{victim} of {count}");
        }
    }
}

#[test]
fn dropping_the_set_drops_the_attempts_that_were_not_removed() {
    for count in SIZES {
        let (mut set, controls, _) = polled(count);
        for victim in (0..count).step_by(3) {
            assert_eq!(remove(&mut set, victim), Some(victim));
        }
        drop(set);
        assert!(controls.iter().all(|control| control.drops.get() == 1));
    }
}

#[test]
fn attempts_removed_before_their_first_poll_are_never_polled() {
    for count in SIZES {
        // One and several new attempts, in both parities of a round.
        for (pushed, rounds) in [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)] {
            let (mut set, _, task) = polled(count);
            for _ in 0..rounds {
                let others = controls(2);
                for (index, other) in others.iter().enumerate() {
                    push(&mut set, count + index, other);
                }
                assert!(poll(&mut set, &task).is_pending());
            }
            let new = controls(pushed);
            for (index, control) in new.iter().enumerate() {
                push(&mut set, 1_000 + index, control);
            }
            for index in 0..pushed {
                assert_eq!(remove(&mut set, 1_000 + index), Some(1_000 + index));
            }
            assert!(poll(&mut set, &task).is_pending());
            assert!(new.iter().all(|control| control.polls.get() == 0));
            // The slots can be used again.
            for (index, control) in controls(pushed).iter().enumerate() {
                push(&mut set, index, control);
                assert!(poll(&mut set, &task).is_pending());
                assert_eq!(control.polls.get(), 1, "{pushed} after {count}");
            }
        }
    }
}

#[test]
fn attempt_pushed_into_the_slot_of_a_removed_one_is_polled_last() {
    let (mut set, _, task) = polled(3);
    let pushed = controls(3);
    for (index, control) in pushed.iter().enumerate().take(2) {
        push(&mut set, 3 + index, control);
    }
    assert_eq!(remove(&mut set, 0), Some(0));
    push(&mut set, 5, &pushed[2]); // in slot 0
    pushed.iter().for_each(|control| control.ready.set(true));
    for index in 3..6 {
        assert_eq!(poll(&mut set, &task), Poll::Ready(Some(index)));
    }
}

#[test]
fn group_whose_new_attempts_were_removed_hides_no_later_group() {
    let (mut set, controls, task) = polled(200);
    for index in [70, 71] {
        assert_eq!(remove(&mut set, index), Some(index));
    }
    for index in [1_000, 1_001] {
        push(&mut set, index, &Rc::default()); // in the slots of 70 and 71
    }
    for index in [1_000, 1_001] {
        assert_eq!(remove(&mut set, index), Some(index));
    }
    for index in [150, 199] {
        controls[index].wake();
    }
    assert!(poll(&mut set, &task).is_pending());
    for index in [150, 199] {
        assert_eq!(controls[index].polls.get(), 2, "{index}");
    }
}
