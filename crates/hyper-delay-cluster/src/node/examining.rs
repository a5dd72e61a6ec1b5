//! Reads the tables of a store that has failed in the background.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
    thread,
};

use super::worker::Mail;
use hyper_delay_fjall::{Embedded, replicas::NodeDirectory};

/// Whether the tables were read.
#[derive(Debug, Default)]
pub(super) struct Examining {
    state: State,
    /// It ends without a result.
    is_over: Arc<AtomicBool>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    NotBegun,
    UnderWay,
    Done,
}

impl Examining {
    /// Whether it is not known yet what is damaged.
    pub(super) fn is_open(&self) -> bool {
        self.state != State::Done
    }

    /// Begins the examination. Returns false if it has begun before.
    pub(super) fn begin(&mut self) -> bool {
        let begins = self.state == State::NotBegun;
        if begins {
            self.state = State::UnderWay;
        }
        begins
    }

    /// Reads the tables on a thread of its own: it may be long.
    pub(super) fn examine(
        &self,
        store: Arc<Embedded>,
        directory: NodeDirectory,
        own: Sender<Mail>,
    ) {
        let is_over = self.is_over.clone();
        let told = own.clone();
        let examiner = thread::Builder::new().name("examiner".to_owned());
        let begun = examiner.spawn(move || {
            let damage = store.damage(&|| is_over.load(Ordering::Relaxed));
            drop(store);
            drop(directory);
            let _ = told.send(Mail::Examined(damage));
        });
        if begun.is_err() {
            let _ = own.send(Mail::Examined(None));
        }
    }

    /// The result has come.
    pub(super) const fn finish(&mut self) {
        self.state = State::Done;
    }

    /// There is another store.
    pub(super) const fn begin_again(&mut self) {
        self.state = State::NotBegun;
    }

    /// Its result is not waited for.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
