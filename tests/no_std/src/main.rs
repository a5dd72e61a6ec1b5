//! Races without `std`: a superloop, a counter for a clock, and memory that is handed out once.
//! Exits with 0 if the race went as it must.

#![no_std]
#![no_main]

use core::{panic::PanicInfo, time::Duration};

use race_core::{Fixed, Moment, Next, Stagger};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// The precompiled `core` names it. `std` would define it too.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main(_: i32, _: *const *const u8) -> i32 {
    if !stagger_alone() {
        return 1;
    }
    #[cfg(feature = "alloc")]
    if !with_alloc::race() {
        return 2;
    }
    0
}

/// Drives the state machine from a loop that looks at a counter.
fn stagger_alone() -> bool {
    let mut stagger = Stagger::new(Fixed(Duration::from_nanos(5)));
    let mut starts = [u64::MAX; 3];
    for tick in 0..20 {
        let now = Moment::from_nanos(tick);
        let due = match stagger.next(0, || now) {
            Next::Start => true,
            Next::Until(moment) => now >= moment,
            _ => false,
        };
        if due && stagger.starts() < starts.len() {
            starts[stagger.started()] = tick;
            stagger.clock(|| now);
        }
    }
    starts == [0, 5, 10]
}

#[cfg(feature = "alloc")]
mod with_alloc {
    use core::{
        alloc::{GlobalAlloc, Layout},
        cell::{Cell, UnsafeCell},
        pin::{Pin, pin},
        ptr,
        sync::atomic::{AtomicUsize, Ordering},
        task::{Context, Poll, Waker},
        time::Duration,
    };

    use race_core::{Moment, Race, Timer};

    const SIZE: usize = 64 * 1024;

    /// Never frees.
    struct Bump {
        memory: UnsafeCell<[u8; SIZE]>,
        used: AtomicUsize,
    }

    // SAFETY: `used` hands each part of the memory out once.
    unsafe impl Sync for Bump {}

    // SAFETY: each part is aligned as asked, inside the memory, and handed out once.
    unsafe impl GlobalAlloc for Bump {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let start = self.memory.get() as usize;
            let size = layout.size() + layout.align();
            let used = self.used.fetch_add(size, Ordering::Relaxed);
            if used + size > SIZE {
                return ptr::null_mut();
            }
            (start + used).next_multiple_of(layout.align()) as *mut u8
        }

        unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
    }

    #[global_allocator]
    static MEMORY: Bump = Bump {
        memory: UnsafeCell::new([0; SIZE]),
        used: AtomicUsize::new(0),
    };

    /// One step of the loop is one nanosecond. Wakes by being polled in every step.
    struct Ticks<'a>(&'a Cell<u64>);

    impl Timer for Ticks<'_> {
        fn now(&self) -> Moment {
            Moment::from_nanos(self.0.get())
        }

        fn poll_until(self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
            if self.now() >= deadline {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    }

    pub(crate) fn race() -> bool {
        let ticks = Cell::new(0);
        let attempts = [100, 20, 80].map(|latency| {
            let ticks = &ticks;
            async move {
                let (mut timer, deadline) = (Ticks(ticks), ticks.get() + latency);
                core::future::poll_fn(|cx| {
                    Pin::new(&mut timer).poll_until(Moment::from_nanos(deadline), cx)
                })
                .await;
            }
        });
        let race = Race::of_with(Ticks(&ticks), Duration::from_nanos(50), attempts);
        let mut first = pin!(race.first());
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match first.as_mut().poll(&mut cx) {
                Poll::Ready(won) => return won.is_ok_and(|won| won.place == 1) && ticks.get() == 70,
                Poll::Pending => ticks.set(ticks.get() + 1),
            }
        }
    }
}
