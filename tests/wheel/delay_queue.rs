//! Random scripts, run on a wheel and on tokio-util's `DelayQueue`, which must agree.

use std::{future::poll_fn, task::Poll, time::Duration};

use proptest::{collection::vec, prelude::*, sample::Index};
use race_wheel::{Tick, Wheel};
use tokio::time::advance;
use tokio_util::time::DelayQueue;

use crate::cases;

#[derive(Clone, Debug)]
enum Act {
    /// The delay, in milliseconds.
    Insert(u64),
    Cancel(Index),
    Reschedule(Index, u64),
    /// Advances by this many milliseconds, then takes what expired.
    Advance(u64),
}

fn millis() -> impl Strategy<Value = u64> {
    (0..32_u32, any::<u64>()).prop_map(|(bits, random)| random % (1 << bits))
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => millis().prop_map(Act::Insert),
        2 => any::<Index>().prop_map(Act::Cancel),
        2 => (any::<Index>(), millis()).prop_map(|(which, millis)| Act::Reschedule(which, millis)),
        4 => millis().prop_map(Act::Advance),
    ]
}

/// Runs all acts on both. Values are numbers; `armed` has the value and both keys of each timer.
async fn play(acts: Vec<Act>) {
    let (mut wheel, mut queue) = (Wheel::new(1), DelayQueue::new());
    let (mut now, mut armed, mut deadlines) = (0, Vec::new(), Vec::new());
    let at = Tick::new; // milliseconds
    for act in acts.into_iter().chain([Act::Advance(1 << 33)]) {
        match act {
            Act::Insert(millis) => {
                let value = deadlines.len();
                deadlines.push(now + millis);
                let theirs = queue.insert(value, Duration::from_millis(millis));
                armed.push((value, wheel.insert(at(now + millis), value), theirs));
            }
            Act::Cancel(which) if !armed.is_empty() => {
                let (value, ours, theirs) = armed.swap_remove(which.index(armed.len()));
                assert_eq!(wheel.cancel(ours), Some(value));
                assert_eq!(queue.remove(&theirs).into_inner(), value);
            }
            Act::Reschedule(which, millis) if !armed.is_empty() => {
                let which = which.index(armed.len());
                let (value, ours, theirs) = &mut armed[which];
                deadlines[*value] = now + millis;
                *ours = wheel.reschedule(*ours, at(now + millis)).unwrap();
                queue.reset(theirs, Duration::from_millis(millis));
            }
            Act::Cancel(_) | Act::Reschedule(..) => {}
            Act::Advance(millis) => {
                now += millis;
                advance(Duration::from_millis(millis)).await;
                let ours: Vec<_> = wheel.poll(at(now)).collect();
                // `DelayQueue` does not order values of the same millisecond.
                let mut theirs: Vec<_> = drain(&mut queue).await;
                theirs.sort_by_key(|value| deadlines[*value]);
                let times = |values: &[usize]| -> Vec<u64> {
                    values.iter().map(|value| deadlines[*value]).collect()
                };
                assert_eq!(times(&ours), times(&theirs));
                let sorted = |mut values: Vec<usize>| {
                    values.sort_unstable();
                    values
                };
                assert_eq!(sorted(ours.clone()), sorted(theirs));
                armed.retain(|(value, ..)| !ours.contains(value));
            }
        }
        assert_eq!(wheel.len(), queue.len());
    }
    assert!(wheel.is_empty());
}

/// Takes what has expired, and checks that deadlines do not decrease.
async fn drain(queue: &mut DelayQueue<usize>) -> Vec<usize> {
    let (mut values, mut last) = (Vec::new(), None);
    while let Poll::Ready(Some(expired)) = poll_fn(|cx| Poll::Ready(queue.poll_expired(cx))).await {
        assert!(last <= Some(expired.deadline()) || last.is_none());
        last = Some(expired.deadline());
        values.push(expired.into_inner());
    }
    values
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn wheel_agrees_with_delay_queue(acts in vec(act(), 0..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(tokio::task::unconstrained(play(acts)));
    }
}
