//! Create a set, push N futures, finish them in random order.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use race_core::Attempts;

use crate::{
    contenders::{Presized, Scan, Set},
    future::{Desks, Parked, Shuffle, Work, parent},
    table::{Contender, Side, compare, contender},
};

type Small = Parked<14>;

pub(crate) fn in_random_order(count: usize) {
    compare(
        &format!("make a set, push {count}, finish them in random order; for each"),
        count as u64,
        vec![
            set::<Attempts<Small>>(count, Side::Ours),
            set::<Presized<Small>>(count, Side::Reference),
            set::<futures::stream::FuturesUnordered<Small>>(count, Side::Peer),
            set::<futures_buffered::FuturesUnorderedBounded<Small>>(count, Side::Presized),
            set::<futures_buffered::FuturesUnordered<Small>>(count, Side::Peer),
            set::<Pin<Box<futures_concurrency::future::FutureGroup<Small>>>>(count, Side::Peer),
            set::<unicycle::FuturesUnordered<Small>>(count, Side::Peer),
            set::<Scan<Small>>(count, Side::Reference),
        ],
    );
}

fn set<S: Set<Small> + 'static>(count: usize, side: Side) -> Contender<'static> {
    let (mut desks, waker) = (Desks::new(count), parent());
    let order = Shuffle::new().permutation(count);
    contender(S::NAME, side, move |turns| {
        let mut cx = Context::from_waker(&waker);
        for _ in 0..turns {
            desks.reset();
            let mut set = S::with_room_for(count);
            for future in desks.futures(Work::None) {
                set.push(future);
            }
            assert!(set.poll(&mut cx).is_pending());
            for index in &order {
                desks.finish(*index);
                // Some sets return `Pending` and wake themselves.
                while set.poll(&mut cx) != Poll::Ready(true) {}
            }
        }
    })
}
