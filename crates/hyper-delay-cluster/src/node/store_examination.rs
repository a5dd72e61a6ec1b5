//! Reads the tables of a store that has failed in the background.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
    thread,
};

use super::worker::WorkerMessage;
use hyper_delay_fjall::{Embedded, node_directory::NodeDirectory};

/// The progress of the examination of a store.
#[derive(Debug, Default)]
pub(super) struct StoreExamination {
    state: ExaminationState,
    /// Set to cancel the examination.
    is_over: Arc<AtomicBool>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ExaminationState {
    #[default]
    NotBegun,
    Running,
    Done,
}

impl StoreExamination {
    /// Returns whether there is no result yet.
    pub(super) fn is_pending(&self) -> bool {
        self.state != ExaminationState::Done
    }

    /// Begins the examination. Returns false if it has begun before.
    pub(super) fn begin(&mut self) -> bool {
        let begins = self.state == ExaminationState::NotBegun;
        if begins {
            self.state = ExaminationState::Running;
        }
        begins
    }

    /// Reads the tables on a thread of its own, as this can take long.
    pub(super) fn spawn(
        &self,
        store: Arc<Embedded>,
        directory: NodeDirectory,
        own: Sender<WorkerMessage>,
    ) {
        let is_over = self.is_over.clone();
        let results = own.clone();
        let examiner = thread::Builder::new().name("examiner".to_owned());
        let begun = examiner.spawn(move || {
            let damage = store.find_damage(&|| is_over.load(Ordering::Relaxed));
            drop(store);
            drop(directory);
            let _ = results.send(WorkerMessage::Examined(damage));
        });
        if begun.is_err() {
            let _ = own.send(WorkerMessage::Examined(None));
        }
    }

    /// The result has come.
    pub(super) const fn finish(&mut self) {
        self.state = ExaminationState::Done;
    }

    /// There is another store.
    pub(super) const fn reset(&mut self) {
        self.state = ExaminationState::NotBegun;
    }

    /// Cancels the examination.
    pub(super) fn cancel(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
