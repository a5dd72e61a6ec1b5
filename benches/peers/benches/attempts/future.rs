//! The futures of the workloads.

use std::{
    hint::black_box,
    pin::Pin,
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
};

/// The cost of a poll, apart from reading the flag.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Work {
    None,
    /// About 15 ns.
    Some,
}

static CHAIN: AtomicU64 = AtomicU64::new(0x9E37_79B9);

/// The flags and wakers of the futures.
pub(crate) struct Desks(Vec<Desk>);

#[derive(Default)]
struct Desk {
    waker: Option<Waker>,
    ready: bool,
}

impl Desks {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Desk::default()).collect())
    }

    /// Returns one future per desk. They must not outlive the desks.
    pub(crate) fn futures<const PAD: usize>(
        &mut self,
        work: Work,
    ) -> impl ExactSizeIterator<Item = Parked<PAD>> {
        self.0.iter_mut().map(move |desk| Parked {
            desk: NonNull::from(desk),
            work,
            pad: [0; PAD],
        })
    }

    pub(crate) fn wake(&self, index: usize) {
        if let Some(waker) = &self.0[index].waker {
            waker.wake_by_ref();
        }
    }

    /// Makes a future ready and wakes it.
    pub(crate) fn finish(&mut self, index: usize) {
        self.0[index].ready = true;
        if let Some(waker) = self.0[index].waker.take() {
            waker.wake();
        }
    }

    /// Returns whether every future was polled and left its waker.
    pub(crate) fn registered(&self) -> bool {
        self.0.iter().all(|desk| desk.waker.is_some())
    }

    pub(crate) fn reset(&mut self) {
        self.0.iter_mut().for_each(|desk| desk.ready = false);
    }
}

/// Pending until its desk is ready. It registers its waker there, as with an I/O source.
pub(crate) struct Parked<const PAD: usize = 0> {
    desk: NonNull<Desk>,
    work: Work,
    pad: [u64; PAD],
}

// SAFETY: a benchmark runs on one thread; only `JoinSet` requires the bound.
unsafe impl<const PAD: usize> Send for Parked<PAD> {}

impl<const PAD: usize> Future for Parked<PAD> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.work == Work::Some {
            // Each depends on the previous result, so that the processor cannot overlap them.
            let mut value = CHAIN.load(Relaxed);
            for _ in 0..12 {
                value = value.wrapping_mul(0xD129_0B2D).rotate_left(17);
            }
            CHAIN.store(value, Relaxed);
        }
        black_box(&self.pad);
        let mut desk = self.desk;
        // SAFETY: the desks outlive the futures, and no other reference to them exists meanwhile.
        let desk = unsafe { desk.as_mut() };
        if desk.ready {
            return Poll::Ready(());
        }
        match &desk.waker {
            Some(waker) if waker.will_wake(cx.waker()) => {}
            _ => desk.waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

/// A waker that does nothing.
pub(crate) fn parent() -> Waker {
    const TABLE: RawWakerVTable = RawWakerVTable::new(
        |data| RawWaker::new(data, &TABLE),
        |data| {
            black_box(data);
        },
        |data| {
            black_box(data);
        },
        |_| {},
    );
    // SAFETY: the functions do not use the data pointer.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLE)) }
}

/// Indices that a branch predictor cannot learn; the same in each run.
pub(crate) struct Shuffle(u64);

impl Shuffle {
    pub(crate) fn new() -> Self {
        Self(0x2545_F491_4F6C_DD1D)
    }

    /// Returns an index below `count`.
    #[inline]
    pub(crate) fn next(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * count as u128) >> 64) as usize
    }

    pub(crate) fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for index in (1..count).rev() {
            order.swap(index, self.next(index + 1));
        }
        order
    }
}
