//! Where the expiries of the running attempts are kept: on the heap or inline, as the attempts are.

#[cfg(feature = "alloc")]
use alloc::collections::VecDeque;

use super::timeouts::{Expiries, Expiry};
use crate::Moment;

#[cfg(feature = "alloc")]
impl Expiries for VecDeque<Expiry> {
    fn insert(&mut self, expiry: Expiry) {
        let position = self.partition_point(|earlier| earlier.at <= expiry.at);
        self.insert(position, expiry);
    }

    fn is_full(&self) -> bool {
        false
    }

    fn retain(&mut self, mut is_running: impl FnMut(usize) -> bool) {
        self.retain(|expiry| is_running(expiry.index));
    }

    fn first(&self) -> Option<Expiry> {
        self.front().copied()
    }

    fn remove(&mut self, index: usize) {
        let position = match self.binary_search_by_key(&index, |expiry| expiry.index) {
            Ok(position) => Some(position),
            // The attempt timeout was changed while the race was running, or the attempt has none.
            Err(_) => self.iter().position(|expiry| expiry.index == index),
        };
        if let Some(position) = position {
            self.remove(position);
        }
    }
}

/// Up to `N` expiries, in order, without an allocator.
#[derive(Clone, Debug)]
pub struct InlineExpiries<const N: usize> {
    /// The free ones, at the end, are `FREE`.
    expiries: [Expiry; N],
}

/// An expiry that never comes is not kept.
const FREE: Expiry = Expiry {
    index: usize::MAX,
    at: Moment::NEVER,
    timeout: u64::MAX,
};

impl<const N: usize> Default for InlineExpiries<N> {
    fn default() -> Self {
        Self {
            expiries: [FREE; N],
        }
    }
}

impl<const N: usize> Expiries for InlineExpiries<N> {
    fn insert(&mut self, expiry: Expiry) {
        let mut expiries = self.expiries.iter();
        let position = expiries.position(|other| other.at > expiry.at);
        let position = position.expect("the race removed what is not running");
        self.expiries[position..].rotate_right(1);
        self.expiries[position] = expiry;
    }

    fn is_full(&self) -> bool {
        self.expiries[N - 1].at != Moment::NEVER
    }

    fn retain(&mut self, mut is_running: impl FnMut(usize) -> bool) {
        let expiries = self.expiries.into_iter();
        let mut kept = expiries.filter(|expiry| is_running(expiry.index));
        self.expiries = [(); N].map(|()| kept.next().unwrap_or(FREE));
    }

    fn first(&self) -> Option<Expiry> {
        Some(self.expiries[0]).filter(|expiry| expiry.at != Moment::NEVER)
    }

    fn remove(&mut self, index: usize) {
        let mut expiries = self.expiries.iter();
        if let Some(position) = expiries.position(|expiry| expiry.index == index) {
            self.expiries[position..].rotate_left(1);
            self.expiries[N - 1] = FREE;
        }
    }
}
