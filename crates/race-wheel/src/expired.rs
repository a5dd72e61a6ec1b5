use core::{fmt, iter::FusedIterator};

use crate::Wheel;

/// What has expired, the earliest first: the iterator of [`Wheel::poll`].
///
/// Each value leaves the wheel when it is asked for; what was not asked for stays, and comes at the next
/// poll.
#[must_use = "iterators are lazy: what is not asked for stays in the wheel"]
pub struct Expired<'a, V> {
    pub(crate) wheel: &'a mut Wheel<V>,
}

impl<V> Iterator for Expired<'_, V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        let Wheel {
            table, queue, now, ..
        } = &mut *self.wheel;
        loop {
            let key = queue.pop(*now, table)?;
            if let Some(value) = table.expire(key) {
                table.trim();
                return Some(value);
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.wheel.len()))
    }
}

impl<V> FusedIterator for Expired<'_, V> {}

/// Gives memory back after a burst.
impl<V> Drop for Expired<'_, V> {
    fn drop(&mut self) {
        self.wheel.table.release();
        self.wheel.queue.trim();
    }
}

impl<V> fmt::Debug for Expired<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expired")
            .field("wheel", &self.wheel)
            .finish()
    }
}
