//! The state that the threads of a test run share.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use testkit::Wire;

use crate::book::{Book, Life};

#[derive(Default)]
pub(crate) struct World {
    book: Mutex<Book>,
    server: Mutex<Option<(Life, SocketAddr)>>,
    /// Producers send no new requests; consumers acknowledge every delivery.
    pub(crate) draining: AtomicBool,
    /// Consumers end.
    pub(crate) over: AtomicBool,
}

pub(crate) const ROUTES: [&str; 4] = ["north", "east", "south", "west"];

/// The routes with hedged delivery: several consumers may have a copy of a task.
pub(crate) const HEDGED: [&str; 2] = ["north", "south"];

impl World {
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    /// Sets the life and the address of the running server, or `None` while it is down.
    pub(crate) fn server(&self, server: Option<(Life, SocketAddr)>) {
        *self.server.lock().unwrap() = server;
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Waits for a running server and connects to it. Returns `None` at the end of the test run.
    pub(crate) fn connect(&self) -> Option<(Life, Wire)> {
        while !self.is_over() {
            let server = *self.server.lock().unwrap();
            if let Some((life, address)) = server
                && let Ok(wire) = Wire::to(address)
            {
                return Some((life, wire));
            }
            thread::sleep(Duration::from_millis(2));
        }
        None
    }
}
