//! Futures are never moved, and may have any size and alignment.

use std::{
    cell::Cell,
    marker::PhantomPinned,
    mem,
    pin::Pin,
    ptr,
    rc::Rc,
    task::{Context, Poll},
};

use futures::{FutureExt, executor::block_on, future};
use race::Attempts;

use crate::{
    gate::Gate,
    task::{Parent, drain},
};

/// A future that asserts that it is not moved between its first poll and its drop.
struct Rooted {
    address: Cell<*const Self>,
    is_ready: bool,
    drops: Rc<Cell<usize>>,
    _pinned: PhantomPinned,
}

impl Rooted {
    fn assert_unmoved(&self) {
        let address = self.address.replace(self);
        assert!(address.is_null() || ptr::eq(address, self), "moved");
    }
}

impl Future for Rooted {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.assert_unmoved();
        cx.waker().wake_by_ref();
        match self.is_ready {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for Rooted {
    fn drop(&mut self) {
        self.assert_unmoved();
        self.drops.set(self.drops.get() + 1);
    }
}

#[test]
fn futures_do_not_move_while_the_set_grows_to_5_000() {
    let drops = Rc::new(Cell::new(0));
    let mut set = Attempts::new();
    let parent = Parent::new();
    for index in 0..5_000_usize {
        let is_ready = index % 100 == 99; // frees a slot now and then
        let rooted = Rooted {
            address: Cell::new(ptr::null()),
            is_ready,
            drops: drops.clone(),
            _pinned: PhantomPinned,
        };
        set.push(rooted);
        if is_ready || set.len().is_power_of_two() {
            drain(&mut set, &parent);
        }
    }
    let mut set = Box::new(set); // the set may move
    drain(&mut set, &parent);
    assert_eq!((set.len(), drops.get()), (4_950, 50));
    drop(set);
    assert_eq!(drops.get(), 5_000);
}

#[test]
fn zero_sized_futures_are_polled_and_dropped_once() {
    struct Nothing;
    impl Future for Nothing {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            DROPS.with(|drops| drops.set(drops.get() + 100_000)); // a poll counts as 100,000 drops
            Poll::Ready(())
        }
    }
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.with(|drops| drops.set(drops.get() + 1));
        }
    }
    thread_local!(static DROPS: Cell<usize> = const { Cell::new(0) });
    assert_eq!(size_of::<Nothing>(), 0);

    let mut set = Attempts::new();
    (0..300).for_each(|_| set.push(Nothing));
    let ready = drain(&mut set, &Parent::new());
    assert_eq!((ready.len(), DROPS.get()), (300, 300 * 100_001));
    (0..300).for_each(|_| set.push(Nothing));
    drop(set);
    assert_eq!(DROPS.get(), 300 * 100_001 + 300);
}

#[test]
fn overaligned_futures_are_aligned() {
    #[repr(align(256))]
    struct Wide(u8);
    impl Future for Wide {
        type Output = u8;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
            assert_eq!(ptr::from_ref(&*self).addr() % 256, 0);
            Poll::Ready(self.0)
        }
    }
    let mut set = Attempts::new();
    (0..100_u8).for_each(|index| set.push_with(index, Wide(index)));
    for index in 0..100 {
        assert_eq!(block_on(set.next()), Some((index, index)));
    }
}

/// Wakes itself and is pending once.
async fn yield_now() {
    let mut is_woken = false;
    let yields = future::poll_fn(|cx| {
        cx.waker().wake_by_ref();
        match mem::replace(&mut is_woken, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    });
    yields.await;
}

#[test]
fn self_referential_futures_finish() {
    let mut set = Attempts::new();
    for index in 0..200_usize {
        set.push_with(index, async move {
            let own = [index; 16];
            let borrowed = &own;
            for it in borrowed {
                assert_eq!(*it, index);
                yield_now().await;
            }
            borrowed.iter().sum::<usize>()
        });
    }
    while let Some((index, sum)) = block_on(set.next()) {
        assert_eq!(sum, index * 16);
    }
    assert!(set.is_empty());
}

#[test]
fn dropping_next_loses_no_output() {
    let (mut set, gates) = Gate::set(70);
    let parent = Parent::new();
    for gate in &gates {
        assert_eq!(set.next().now_or_never(), None);
        gate.open();
        drop(set.next());
        assert_eq!(drain(&mut set, &parent).len(), 1);
    }
    assert!(set.is_empty());
}
