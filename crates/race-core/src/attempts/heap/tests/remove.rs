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
