//! What all threads of a run share.

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
    /// Producers send nothing new; consumers do as they are told.
    pub(crate) draining: AtomicBool,
    /// Consumers end.
    pub(crate) over: AtomicBool,
}

pub(crate) const ROUTES: [&str; 4] = ["north", "east", "south", "west"];

/// The routes of which several consumers may have a copy at a time.
pub(crate) const HEDGED: [&str; 2] = ["north", "south"];

impl World {
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    /// There is a server, in that life, or none.
    pub(crate) fn server(&self, server: Option<(Life, SocketAddr)>) {
        *self.server.lock().unwrap() = server;
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// A connection to the server, as soon as there is one.
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
