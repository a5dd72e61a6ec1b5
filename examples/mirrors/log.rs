//! Who started when, and what became of them.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use hyper::body::Bytes;

use crate::{
    fetch::FetchError,
    staircase::{End, Lane},
};

/// Shared by the attempts of one race.
pub(crate) struct Log {
    began: Instant,
    lanes: RefCell<Vec<Lane>>,
}

impl Log {
    pub(crate) fn new(began: Instant, names: impl Iterator<Item = String>) -> Self {
        Self {
            began,
            lanes: RefCell::new(names.map(Lane::new).collect()),
        }
    }

    /// Notes a start. Keep what it returns for as long as the attempt runs.
    pub(crate) fn start(&self, place: usize) -> Running<'_> {
        let now = self.began.elapsed();
        self.lanes.borrow_mut()[place].started = Some(now);
        Running { log: self, place }
    }

    /// Notes that those who still run have run out of time.
    pub(crate) fn give_up(&self) {
        let now = self.began.elapsed();
        for lane in self.lanes.borrow_mut().iter_mut() {
            lane.end(now, End::Unfinished);
        }
    }

    /// Notes who was the first of those that have fetched it.
    pub(crate) fn win(&self, place: usize) {
        if let Some((_, End::Fetched { won, .. })) = &mut self.lanes.borrow_mut()[place].ended {
            *won = true;
        }
    }

    pub(crate) fn into_lanes(self) -> Vec<Lane> {
        self.lanes.into_inner()
    }

    fn end(&self, place: usize, end: End) {
        let now: Duration = self.began.elapsed();
        self.lanes.borrow_mut()[place].end(now, end);
    }
}

/// An attempt that runs. If it is dropped before its end it was cancelled.
pub(crate) struct Running<'a> {
    log: &'a Log,
    place: usize,
}

impl Running<'_> {
    pub(crate) fn end(self, fetched: &Result<Bytes, FetchError>) {
        let end = match fetched {
            Ok(body) => End::Fetched {
                bytes: body.len(),
                won: false,
            },
            Err(error) => End::Failed(error.to_string()),
        };
        self.log.end(self.place, end);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.log.end(self.place, End::Cancelled);
    }
}
