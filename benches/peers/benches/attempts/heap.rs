//! The heap memory of a set beyond its futures, and the number of allocations.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    task::Context,
};

use race_core::Attempts;

use crate::{
    contenders::{Scan, Set},
    future::{Desks, Parked, Work, parent},
    table::{Row, Side, print},
};

/// The system's allocator, with counters.
pub(crate) struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Relaxed);
        CALLS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Returns the number of allocations of a function.
pub(crate) fn allocations(what: impl FnOnce()) -> usize {
    let before = CALLS.load(Relaxed);
    what();
    CALLS.load(Relaxed) - before
}

/// A future of 128 bytes.
type Small = Parked<14>;

pub(crate) fn beyond_the_futures() {
    assert_eq!(size_of::<Small>(), 128);
    for count in [1, 8, 1_024] {
        let rows: Vec<(usize, usize, Row)> = vec![
            measure::<Attempts<Small>>(count, Side::Ours),
            measure::<futures::stream::FuturesUnordered<Small>>(count, Side::Peer),
            measure::<futures_buffered::FuturesUnorderedBounded<Small>>(count, Side::Presized),
            measure::<futures_buffered::FuturesUnordered<Small>>(count, Side::Peer),
            measure::<Pin<Box<futures_concurrency::future::FutureGroup<Small>>>>(count, Side::Peer),
            measure::<unicycle::FuturesUnordered<Small>>(count, Side::Peer),
            measure::<Scan<Small>>(count, Side::Reference),
        ];
        let calls = rows.iter().map(|(calls, _, row)| Row {
            name: row.name,
            side: row.side,
            value: *calls as f64 / count as f64,
        });
        let calls = calls.collect();
        let bytes = rows.into_iter().map(|(_, _, row)| row).collect();
        print(
            &format!("heap beyond {count} futures of 128 bytes, for each"),
            "bytes",
            bytes,
        );
        print(
            &format!("allocations for {count} futures, for each"),
            "calls",
            calls,
        );
    }
}

fn measure<S: Set<Small>>(count: usize, side: Side) -> (usize, usize, Row) {
    let mut desks = Desks::new(count);
    let (bytes, calls) = (BYTES.load(Relaxed), CALLS.load(Relaxed));
    let mut set = S::with_room_for(count);
    for future in desks.futures(Work::None) {
        set.push(future);
    }
    let _ = set.poll(&mut Context::from_waker(&parent()));
    let bytes = BYTES.load(Relaxed) - bytes;
    let calls = CALLS.load(Relaxed) - calls;
    let beyond = bytes.saturating_sub(count * size_of::<Small>());
    let row = Row {
        name: S::NAME,
        side,
        value: beyond as f64 / count as f64,
    };
    (calls, beyond, row)
}
