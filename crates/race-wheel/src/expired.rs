use core::{fmt, iter::FusedIterator};

use crate::Wheel;

/// The expired values, the earliest first: the iterator of [`Wheel::poll`] and
/// [`Wheel::poll_limited`].
///
/// A value leaves the wheel when [`next`](Iterator::next) returns it. The others stay in the wheel,
/// for the next poll.
#[must_use = "iterators are lazy: values that are not taken stay in the wheel"]
pub struct Expired<'a, V> {
    wheel: &'a mut Wheel<V>,
    /// The number of timers it may still look at.
    steps: usize,
    is_limited: bool,
}

impl<'a, V> Expired<'a, V> {
    pub(crate) fn new(wheel: &'a mut Wheel<V>, limit: Option<usize>) -> Self {
        Self {
            wheel,
            steps: limit.unwrap_or(usize::MAX),
            is_limited: limit.is_some(),
        }
    }
}

impl<V> Iterator for Expired<'_, V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        let Wheel {
            table, queue, now, ..
        } = &mut *self.wheel;
        loop {
            let key = queue.pop(*now, table, &mut self.steps)?;
            if let Some(value) = table.expire(key) {
                table.trim();
                return Some(value);
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.wheel.len().min(self.steps)))
    }
}

impl<V> FusedIterator for Expired<'_, V> {}

impl<V> Drop for Expired<'_, V> {
    /// Releases the table after a burst. That takes time in proportion to the burst, so not with a
    /// limit.
    fn drop(&mut self) {
        if !self.is_limited {
            self.wheel.table.release();
        }
    }
}

impl<V> fmt::Debug for Expired<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expired")
            .field("wheel", &self.wheel)
            .finish()
    }
}
