use super::*;

/// A set that was filled by `push_and_poll` in the first poll of its task, as by a race without a
/// delay.
fn started(count: usize) -> (Set, Vec<Rc<Control>>, Arc<Task>) {
    let (controls, task) = (controls(count), Arc::default());
    let mut set = Attempts::new();
    assert_eq!(poll(&mut set, &task), Poll::Ready(None));
    for (index, control) in controls.iter().enumerate() {
        assert!(start(&mut set, index, control, &task).is_pending());
    }
    (set, controls, task)
}

#[test]
fn wake_of_any_attempt_started_in_one_poll_reaches_the_task() {
    for count in SIZES {
        // The last one first: the 65th is in a group of its own.
        for index in [count - 1, count / 2, 0] {
            let (mut set, controls, task) = started(count);
            let wakes = task.wakes();
            controls[index].ready.set(true);
            controls[index].wake();
            assert_eq!(task.wakes(), wakes + 1, "{index} of {count}");
            assert_eq!(poll(&mut set, &task), Poll::Ready(Some(index)));
        }
    }
}

#[test]
fn wake_of_an_attempt_started_in_a_later_poll_reaches_the_task() {
    for count in SIZES {
        let (mut set, mut controls, task) = started(count);
        assert!(poll(&mut set, &task).is_pending());
        let new: Rc<Control> = Rc::default();
        assert!(start(&mut set, count, &new, &task).is_pending());
        controls.push(new);
        let wakes = task.wakes();
        controls[count].ready.set(true);
        controls[count].wake();
        assert_eq!(task.wakes(), wakes + 1, "after {count}");
        assert_eq!(poll(&mut set, &task), Poll::Ready(Some(count)));
    }
}

#[test]
fn attempt_that_wakes_itself_when_it_is_started_wakes_the_task() {
    for count in SIZES {
        let (mut set, _, task) = started(count);
        let wakes = task.wakes();
        let yielding: Rc<Control> = Rc::default();
        yielding.self_wakes.set(1);
        assert!(start(&mut set, count, &yielding, &task).is_pending());
        assert!(task.wakes() > wakes, "after {count}");
        yielding.ready.set(true);
        assert_eq!(poll(&mut set, &task), Poll::Ready(Some(count)));
    }
}

#[test]
fn first_attempt_is_polled_again_with_its_own_waker() {
    let (mut set, controls, _) = started(2);
    assert_eq!((controls[0].polls.get(), controls[1].polls.get()), (2, 1));
    let waker = controls[0].waker.borrow().clone().expect("it was polled");
    let ready = set.ready_mut().expect("it has two");
    assert!(waker.will_wake(&ready.own_waker(0)));
}

#[test]
fn task_that_panics_when_a_started_attempt_wakes_it_loses_no_poll_of_the_first() {
    struct PanicsWhenWoken;
    impl Wake for PanicsWhenWoken {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(std::boxed::Box::new(()));
        }
    }
    let (mut set, controls, task) = started(1);
    let yielding: Rc<Control> = Rc::default();
    yielding.self_wakes.set(1);
    let waker = Waker::from(Arc::new(PanicsWhenWoken));
    let mut cx = Context::from_waker(&waker);
    assert!(Pin::new(&mut set).poll_ready(&mut cx).is_pending());
    let attempt = Controlled(yielding.clone());
    let arg = Arg(1, yielding.clone());
    let run = || {
        Pin::new(&mut set)
            .push_and_poll(arg, attempt, &mut cx)
            .is_pending()
    };
    let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    assert!(started.is_err(), "the set must wake its task");

    assert!(poll(&mut set, &task).is_pending());
    for (index, control) in [&controls[0], &yielding].into_iter().enumerate() {
        control.ready.set(true);
        control.wake();
        assert_eq!(poll(&mut set, &task), Poll::Ready(Some(index)));
    }
}
