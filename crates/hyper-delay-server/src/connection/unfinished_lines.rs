//! Bounds the memory of lines that were begun and not finished, over all connections.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use tokio::sync::Notify;

use hyper_delay_engine::scheduler::ConsumerId;

/// The unfinished lines of all connections.
///
/// When they exceed the limit together, the line with the largest product of bytes and age is
/// evicted: its connection is closed. An honest client finishes a line soon after it has begun it,
/// and a slow one that sends short lines holds few bytes.
#[derive(Debug)]
pub struct UnfinishedLines {
    limit: AtomicUsize,
    lines: Mutex<UnfinishedTable>,
}

#[derive(Debug, Default)]
struct UnfinishedTable {
    total: usize,
    entries: HashMap<ConsumerId, UnfinishedEntry>,
}

#[derive(Debug)]
struct UnfinishedEntry {
    bytes: usize,
    since: Instant,
    evicted: Arc<Notify>,
}

/// The unfinished line of one connection.
#[derive(Debug)]
pub(super) struct UnfinishedLine {
    all: Arc<UnfinishedLines>,
    connection: ConsumerId,
    is_begun: bool,
    evicted: Arc<Notify>,
}

impl UnfinishedLines {
    /// Limits the lines of all connections to so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit: AtomicUsize::new(limit),
            lines: Mutex::default(),
        }
    }

    /// Changes the limit. It is checked when bytes are read next.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    pub(super) fn register(self: &Arc<Self>, connection: ConsumerId) -> UnfinishedLine {
        UnfinishedLine {
            all: self.clone(),
            connection,
            is_begun: false,
            evicted: Arc::default(),
        }
    }

    fn lines(&self) -> MutexGuard<'_, UnfinishedTable> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnfinishedLine {
    /// Records how many bytes the line takes after a read; `is_new` if that read ended another one.
    pub(super) fn set_bytes(&mut self, bytes: usize, is_new: bool) {
        // Most reads end with the end of a line: they take no lock.
        if bytes > 0 || self.is_begun {
            self.set_bytes_at(bytes, is_new, Instant::now());
        }
    }

    /// Returns whether a line is begun.
    pub(super) const fn is_begun(&self) -> bool {
        self.is_begun
    }

    fn set_bytes_at(&mut self, bytes: usize, is_new: bool, now: Instant) {
        let was_begun = std::mem::replace(&mut self.is_begun, bytes > 0);
        let mut lines = self.all.lines();
        let before = lines.remove(self.connection);
        if was_begun && before.is_none() {
            // The line was evicted, and its connection has not noticed yet. The next line starts
            // without that mark.
            match is_new {
                true => self.evicted = Arc::default(),
                false => return,
            }
        }
        if bytes == 0 {
            return;
        }
        let since = before.filter(|_| !is_new).map_or(now, |entry| entry.since);
        lines.total += bytes;
        lines.entries.insert(
            self.connection,
            UnfinishedEntry {
                bytes,
                since,
                evicted: self.evicted.clone(),
            },
        );
        let limit = self.all.limit.load(Ordering::Relaxed);
        while lines.total > limit {
            lines.evict(now);
        }
    }

    /// Resolves once the connection is to be closed because of its line. Cancel safe.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for UnfinishedLine {
    fn drop(&mut self) {
        if self.is_begun {
            self.all.lines().remove(self.connection);
        }
    }
}

impl UnfinishedTable {
    fn remove(&mut self, connection: ConsumerId) -> Option<UnfinishedEntry> {
        let entry = self.entries.remove(&connection)?;
        self.total -= entry.bytes;
        Some(entry)
    }

    fn evict(&mut self, now: Instant) {
        let weight = |entry: &UnfinishedEntry| {
            let age = now.saturating_duration_since(entry.since).as_millis();
            (age + 1).saturating_mul(entry.bytes as u128)
        };
        let heaviest = self.entries.iter().max_by_key(|(_, entry)| weight(entry));
        let heaviest = heaviest.map(|(connection, _)| *connection);
        match heaviest.and_then(|connection| self.remove(connection)) {
            Some(entry) => entry.evicted.notify_one(),
            None => self.total = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        task::{Context, Waker},
        time::Duration,
    };

    use super::*;

    fn is_evicted(line: &UnfinishedLine) -> bool {
        let evicted = pin!(line.evicted());
        evicted
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready()
    }

    fn lines<const N: usize>(all: &Arc<UnfinishedLines>) -> [UnfinishedLine; N] {
        std::array::from_fn(|connection| all.register(connection as u64))
    }

    #[test]
    fn the_line_that_holds_most_for_longest_is_evicted() {
        let all = Arc::new(UnfinishedLines::new(1000));
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let [mut slow, mut old, mut young] = lines(&all);
        slow.set_bytes_at(10, false, at(0));
        old.set_bytes_at(400, false, at(1000));
        young.set_bytes_at(500, false, at(9000));
        assert!(![&slow, &old, &young].into_iter().any(is_evicted));
        // Together 1,010 bytes: 400 for 8 seconds weigh more than 10 for 9, or 600 for none.
        young.set_bytes_at(600, false, at(9000));
        assert!(is_evicted(&old));
        assert!(!is_evicted(&slow) && !is_evicted(&young));
        assert_eq!(all.lines().total, 610);
    }

    #[test]
    fn a_new_line_is_as_old_as_its_own_first_byte() {
        let all = Arc::new(UnfinishedLines::new(1000));
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let [mut busy, mut holder] = lines(&all);
        busy.set_bytes_at(500, false, at(0));
        holder.set_bytes_at(450, false, at(5000));
        busy.set_bytes_at(500, true, at(6000));
        holder.set_bytes_at(550, false, at(6000));
        assert!(is_evicted(&holder) && !is_evicted(&busy));
    }

    #[test]
    fn a_line_that_ends_after_its_eviction_leaves_the_next_one_alone() {
        let all = Arc::new(UnfinishedLines::new(1000));
        let now = Instant::now();
        for is_new in [true, false] {
            let [mut line] = lines(&all);
            line.set_bytes_at(1001, false, now);
            // The end of the line was read before the eviction was noticed.
            if is_new {
                line.set_bytes_at(10, true, now);
            } else {
                line.set_bytes_at(0, true, now);
                line.set_bytes_at(10, false, now);
            }
            assert!(!is_evicted(&line));
            assert_eq!(all.lines().total, 10);
        }
    }

    #[test]
    fn an_eviction_is_noticed_after_more_of_the_same_line() {
        let all = Arc::new(UnfinishedLines::new(1000));
        let [mut line] = lines(&all);
        line.set_bytes_at(1001, false, Instant::now());
        line.set_bytes_at(900, false, Instant::now());
        assert!(is_evicted(&line));
    }

    #[test]
    fn finished_lines_and_closed_connections_hold_nothing() {
        let all = Arc::new(UnfinishedLines::new(1000));
        let [mut finished, mut closed] = lines(&all);
        finished.set_bytes_at(300, false, Instant::now());
        closed.set_bytes_at(300, false, Instant::now());
        finished.set_bytes_at(0, true, Instant::now());
        drop(closed);
        assert_eq!(all.lines().total, 0);
        assert!(all.lines().entries.is_empty());
    }
}
