//! Records requests, replies and deliveries, and checks them against the server's promises.

use std::collections::HashMap;

/// The id and the content of a task. Every content starts with a unique word.
type Key = (String, String);

/// The number of kills before a run of the server.
pub(crate) type Life = u64;

#[derive(Debug, Default)]
pub(crate) struct Book {
    /// The due time of each content that was sent.
    sent: HashMap<String, u64>,
    revisions: HashMap<Key, Revision>,
    pub(crate) figures: Figures,
    /// Violations of the promises.
    pub(crate) faults: Vec<String>,
}

#[derive(Debug, Default)]
struct Revision {
    /// The server has acknowledged the schedule.
    acknowledged: bool,
    /// A cancel or a replacement was sent: a delivery is no longer required.
    withdrawn: bool,
    /// The life in which the server confirmed the cancel or the replacement.
    superseded: Option<Life>,
    deliveries: u32,
    /// A consumer has sent an ack: another delivery is no longer required.
    answered: bool,
    /// The life in which the server confirmed the ack: another delivery is not allowed.
    removed: Option<Life>,
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) acknowledged: u64,
    pub(crate) cancelled: u64,
    pub(crate) replaced: u64,
    pub(crate) deliveries: u64,
    pub(crate) redeliveries: u64,
    pub(crate) removed: u64,
    pub(crate) early: u64,
    pub(crate) again: u64,
    pub(crate) unknown: u64,
}

impl Book {
    pub(crate) fn sent(&mut self, content: &str, fire_at: u64) {
        self.sent.insert(content.to_owned(), fire_at);
    }

    pub(crate) fn acknowledged(&mut self, id: &str, content: &str) {
        let revision = self.revision(id, content);
        if !revision.acknowledged {
            revision.acknowledged = true;
            self.figures.acknowledged += 1;
        }
    }

    /// Records that a cancel or a replacement is about to be sent.
    pub(crate) fn withdrawn(&mut self, id: &str, content: &str) {
        self.revision(id, content).withdrawn = true;
    }

    /// Records that the cancel or the replacement is on disk.
    pub(crate) fn superseded(&mut self, id: &str, content: &str, life: Life) {
        self.revision(id, content).superseded = Some(life);
    }

    /// Records that a cancel, sent once, found no task: the task is lost unless a consumer has sent
    /// an ack.
    pub(crate) fn not_found(&mut self, id: &str, content: &str) {
        let answered = self.revision(id, content).answered;
        if !answered {
            self.faults
                .push(format!("lost: the cancel of {content} found no task"));
        }
    }

    /// Records a delivery that was read at `now` (Unix milliseconds) from a connection of `life`.
    /// On a hedged route, another copy may be in flight when the task is acknowledged.
    pub(crate) fn delivered(
        &mut self,
        id: &str,
        content: &str,
        now: u64,
        life: Life,
        is_hedged: bool,
    ) {
        self.figures.deliveries += 1;
        match self.sent.get(content) {
            None => {
                self.figures.unknown += 1;
                self.faults.push(format!("never sent: {content}"));
            }
            Some(fire_at) if now < *fire_at => {
                let early = fire_at - now;
                self.figures.early += 1;
                self.faults.push(format!("early by {early} ms: {content}"));
            }
            Some(_) => {}
        }
        let revision = self.revision(id, content);
        revision.deliveries += 1;
        let redelivered = revision.deliveries > 1;
        // In the same life, the delivery may have been in flight on another connection when the
        // task was cancelled or replaced.
        let is_past = |then: Life| then < life;
        let is_removed = |then: Life| !is_hedged || is_past(then);
        let again =
            revision.removed.is_some_and(is_removed) || revision.superseded.is_some_and(is_past);
        let fault = format!("delivered after its removal in life {life}: {content}: {revision:?}");
        self.figures.redeliveries += u64::from(redelivered);
        if again {
            self.figures.again += 1;
            self.faults.push(fault);
        }
    }

    pub(crate) fn answered(&mut self, id: &str, content: &str) {
        self.revision(id, content).answered = true;
    }

    pub(crate) fn removed(&mut self, id: &str, content: &str, life: Life) {
        let removed = &mut self.revision(id, content).removed;
        removed.get_or_insert(life);
        self.figures.removed += 1;
    }

    /// Returns the contents that the server acknowledged, and that were neither withdrawn nor
    /// answered.
    pub(crate) fn lost(&self) -> Vec<&str> {
        let is_lost = |revision: &Revision| {
            revision.acknowledged && !revision.withdrawn && !revision.answered
        };
        let lost = self
            .revisions
            .iter()
            .filter(|(_, revision)| is_lost(revision));
        lost.map(|((_, content), _)| content.as_str()).collect()
    }

    fn revision(&mut self, id: &str, content: &str) -> &mut Revision {
        let key = (id.to_owned(), content.to_owned());
        self.revisions.entry(key).or_default()
    }
}
