use std::{cmp::Reverse, collections::BinaryHeap, rc::Rc};

use race_core::Moment;

use super::job::Job;

/// Something that happens at a moment.
pub(crate) enum Event {
    /// The next request arrives.
    Arrival,
    /// A run of a server ends, unless it was cancelled.
    End { server: usize, run: u64 },
    /// A cancellation reaches the server of a job.
    Cancel(Rc<Job>),
    /// The news that a tied job has begun reaches the server of this one.
    Untie(Rc<Job>),
    /// A slow period of a server begins.
    SlowDown { server: usize },
    /// A slow period of a server ends.
    Recover { server: usize },
}

/// Events in the order of their moments. Those of one moment keep the order of their insertion.
#[derive(Default)]
pub(crate) struct Events {
    waiting: BinaryHeap<Reverse<Entry>>,
    inserted: u64,
}

struct Entry {
    key: (Moment, u64),
    event: Event,
}

impl Events {
    pub(crate) fn insert(&mut self, at: Moment, event: Event) {
        assert!(
            at != Moment::NEVER,
            "the run takes longer than 584 years: raise the load, or make the service times shorter"
        );
        let key = (at, self.inserted);
        self.inserted += 1;
        self.waiting.push(Reverse(Entry { key, event }));
    }

    /// Returns the moment of the first one, or [`Moment::NEVER`].
    pub(crate) fn next(&self) -> Moment {
        let next = self.waiting.peek();
        next.map_or(Moment::NEVER, |Reverse(entry)| entry.key.0)
    }

    /// Removes the first one if its moment has come.
    pub(crate) fn due(&mut self, now: Moment) -> Option<Event> {
        if self.waiting.is_empty() || self.next() > now {
            return None;
        }
        self.waiting.pop().map(|Reverse(entry)| entry.event)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}
