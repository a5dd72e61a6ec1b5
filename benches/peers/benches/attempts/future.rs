//! What is run.

use std::{
    hint::black_box,
    pin::Pin,
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
};

/// What a poll costs beside looking at the flag.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Work {
    None,
    /// About 15 ns.
    Some,
}

static CHAIN: AtomicU64 = AtomicU64::new(0x9E37_79B9);

/// Where futures leave their wakers, and learn that they are ready.
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

    /// One future for each desk. They must not be used after the desks are gone.
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

    /// Wakes one that will be ready.
    pub(crate) fn finish(&mut self, index: usize) {
        self.0[index].ready = true;
        if let Some(waker) = self.0[index].waker.take() {
            waker.wake();
        }
    }

    pub(crate) fn reset(&mut self) {
        self.0.iter_mut().for_each(|desk| desk.ready = false);
    }
}

/// Is pending until its desk says otherwise, and leaves its waker there, as an I/O source would have it.
pub(crate) struct Parked<const PAD: usize = 0> {
    desk: NonNull<Desk>,
    work: Work,
    pad: [u64; PAD],
}

// SAFETY: all of a benchmark is on one thread; `JoinSet` asks for it.
unsafe impl<const PAD: usize> Send for Parked<PAD> {}

impl<const PAD: usize> Future for Parked<PAD> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.work == Work::Some {
            // Each begins with what the last one gave, or the processor would overlap them.
            let mut value = CHAIN.load(Relaxed);
            for _ in 0..12 {
                value = value.wrapping_mul(0xD129_0B2D).rotate_left(17);
            }
            CHAIN.store(value, Relaxed);
        }
        black_box(&self.pad);
        let mut desk = self.desk;
        // SAFETY: the desks outlive the futures, and nobody else looks at them meanwhile.
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

/// The waker of an executor that costs nothing.
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
    // SAFETY: it does nothing at all.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLE)) }
}

/// A sequence of indices that no branch predictor learns; the same each time.
pub(crate) struct Shuffle(u64);

impl Shuffle {
    pub(crate) fn new() -> Self {
        Self(0x2545_F491_4F6C_DD1D)
    }

    /// Below `count`.
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
