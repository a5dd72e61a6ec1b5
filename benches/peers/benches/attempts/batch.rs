//! Push many futures that are ready at their first poll, then poll until all finish.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use race_core::Attempts;

use crate::{
    contenders::{Presized, Scan, Set},
    future::{Desks, Parked, Work, parent},
    table::{Contender, Side, compare, contender},
};

type Small = Parked<14>;

pub(crate) fn ready_at_once(count: usize) {
    compare(
        &format!("batch of {count} ready at once, for each"),
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
    (0..count).for_each(|index| desks.finish(index));
    let mut set = S::with_room_for(count);
    contender(S::NAME, side, move |turns| {
        let mut cx = Context::from_waker(&waker);
        for _ in 0..turns {
            for future in desks.futures(Work::None) {
                set.push(future);
            }
            for _ in 0..count {
                // Some sets return `Pending` and wake themselves.
                while set.poll(&mut cx) != Poll::Ready(true) {}
            }
        }
    })
}
