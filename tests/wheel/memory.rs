//! The heap memory of a wheel, and its release.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use race_wheel::{Tick, Wheel};

/// Counts the bytes that this thread has allocated, and their maximum.
struct Counting;

thread_local! {
    static BYTES: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(more: isize) {
    let bytes = BYTES.get() + more;
    BYTES.set(bytes);
    MOST.set(MOST.get().max(bytes));
}

// SAFETY: every call is forwarded to the system's allocator.
#[allow(unsafe_code, reason = "implements an allocator")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The output of `what`, the bytes it leaves allocated, and the maximum meanwhile.
fn bytes<T>(what: impl FnOnce() -> T) -> (T, isize, isize) {
    let before = BYTES.get();
    MOST.set(before);
    let output = what();
    (output, BYTES.get() - before, MOST.get() - before)
}

const MILLION: u64 = 1_000_000;

fn at(millis: u64) -> Tick {
    Tick::new(millis)
}

fn wheel() -> Wheel<u64> {
    Wheel::new(1)
}

/// Irregular times within a day.
fn scattered(number: u64) -> u64 {
    1 + number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 86_400_000
}

#[test]
fn a_new_wheel_does_not_allocate() {
    let (_wheel, kept, most) = bytes(wheel);
    assert_eq!((kept, most), (0, 0));
}

#[test]
fn inserting_and_cancelling_one_by_one_takes_little_memory() {
    let mut wheel = wheel();
    let mut churn = |from: u64| {
        for number in from..from + MILLION {
            let key = wheel.insert(at(scattered(number)), number);
            assert_eq!(wheel.cancel(key), Some(number));
        }
    };
    let ((), _, most) = bytes(|| churn(0));
    assert!(most <= 30_000, "{most} bytes");
    let ((), more, _) = bytes(|| churn(MILLION));
    assert!(more <= 1_000, "{more} bytes more");
}

#[test]
fn inserting_and_cancelling_beside_long_lived_timers_takes_little_memory() {
    let mut wheel = wheel();
    let (keys, ..) = bytes(|| -> Vec<_> {
        let armed = (0..10_000).map(|number| wheel.insert(at(scattered(number)), number));
        armed.collect()
    });
    let (mut most, mut now) = (0, 0);
    for round in 1..=4 {
        let ((), _, peak) = bytes(|| {
            for number in 0..MILLION {
                let key = wheel.insert(at(now + 30_000 + number % 64), number);
                if number % 2 == 0 {
                    let key = wheel.reschedule(key, at(scattered(number * round)));
                    assert!(wheel.cancel(key.unwrap()).is_some());
                } else {
                    assert!(wheel.cancel(key).is_some());
                }
                if number % 1_000 == 0 {
                    now += 1;
                    wheel.poll(at(now)).for_each(drop);
                }
            }
        });
        most = most.max(peak);
    }
    // 16 bytes for each of 1.5 dead items per live one. Buckets are at least 3/4 full when they
    // grow, and kept while they are 1/4 full.
    assert!(most <= 1_200_000, "{most} bytes");
    assert!(keys.into_iter().filter_map(|key| wheel.cancel(key)).count() > 9_000);
}

#[test]
fn cancelling_a_million_timers_releases_memory() {
    let mut wheel = wheel();
    let (keys, armed, _) = bytes(|| -> Vec<_> {
        let keys = (0..MILLION).map(|number| wheel.insert(at(scattered(number)), number));
        keys.collect()
    });
    let (_, gone, most) = bytes(|| {
        for key in &keys {
            wheel.cancel(*key);
        }
    });
    let left = armed - (keys.capacity() * size_of_val(&keys[0])) as isize + gone;
    assert!(left <= 20_000_000, "{left} bytes left");
    // Shrinking a vector may copy it.
    assert!(most <= 2_000_000, "{most} bytes meanwhile");
    // The rest is released gradually.
    let ((), gone, _) = bytes(|| {
        for number in 0..MILLION {
            let key = wheel.insert(at(scattered(number)), number);
            wheel.cancel(key);
        }
    });
    assert!(left + gone <= 72_000, "{} bytes", left + gone);
}

#[test]
fn expiring_a_million_timers_releases_memory() {
    let mut wheel = wheel();
    let ((), armed, most) = bytes(|| {
        for number in 0..MILLION {
            wheel.insert(at(scattered(number)), number);
        }
    });
    let beyond = |bytes: isize| (bytes - 8 * MILLION as isize) as f64 / MILLION as f64;
    assert!(beyond(armed) <= 40.0, "{} bytes each", beyond(armed));
    // Growing a vector may copy it.
    assert!(beyond(most) <= 70.0, "{} bytes each", beyond(most));
    let (count, gone, most) = bytes(|| wheel.poll(at(86_400_000)).count());
    assert_eq!(count as u64, MILLION);
    assert!(armed + gone <= 250_000, "{} bytes left", armed + gone);
    assert!(most <= 8_000_000, "{most} bytes meanwhile");
    let ((), freed, _) = bytes(|| wheel.clear());
    assert_eq!(armed + gone + freed, 0);
}
