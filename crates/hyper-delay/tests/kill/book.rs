//! What was sent, what the server promised, and what came of it.

use std::collections::HashMap;

/// A task is known by its id and its content; the content begins with a word that no other has.
type Key = (String, String);

/// The server's lives, one after each kill.
pub(crate) type Life = u64;

#[derive(Debug, Default)]
pub(crate) struct Book {
    /// When each content that was sent is due.
    sent: HashMap<String, u64>,
    revisions: HashMap<Key, Revision>,
    pub(crate) figures: Figures,
    /// What must not have happened.
    pub(crate) faults: Vec<String>,
}

#[derive(Debug, Default)]
struct Revision {
    /// The server has said that it is on disk.
    acknowledged: bool,
    /// A cancel or a replacement of it was sent: it need not be delivered any more.
    lapsed: bool,
    /// The life in which the server said that it is gone.
    gone: Option<Life>,
    deliveries: u32,
    /// A consumer has sent an ack: it need not be delivered again.
    answered: bool,
    /// The life in which the server said that the ack is on disk: it must not be delivered again.
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

    pub(crate) fn lapses(&mut self, id: &str, content: &str) {
        self.revision(id, content).lapsed = true;
    }

    /// A replacement of it is on disk, or it is cancelled.
    pub(crate) fn gone(&mut self, id: &str, content: &str, life: Life) {
        self.revision(id, content).gone = Some(life);
    }

    /// A cancel that was sent once has found nothing: then it was done.
    pub(crate) fn was_not_found(&mut self, id: &str, content: &str) {
        let answered = self.revision(id, content).answered;
        if !answered {
            self.faults
                .push(format!("lost: {content} was gone when it was cancelled"));
        }
    }

    /// Takes a delivery that was read at `now` (Unix milliseconds) from a connection of that life. Of
    /// a hedged route, another copy may have been on its way when the task was acknowledged.
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
        // On another connection of the same life it may have been on its way when it was cancelled.
        let is_past = |then: Life| then < life;
        let is_removed = |then: Life| !is_hedged || is_past(then);
        let again = revision.removed.is_some_and(is_removed) || revision.gone.is_some_and(is_past);
        let why = format!("again in life {life}: {content}: {revision:?}");
        self.figures.redeliveries += u64::from(redelivered);
        if again {
            self.figures.again += 1;
            self.faults.push(why);
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

    /// What was acknowledged, and was neither answered nor taken back.
    pub(crate) fn lost(&self) -> Vec<&str> {
        let due =
            |revision: &&Revision| revision.acknowledged && !revision.lapsed && !revision.answered;
        let lost = self.revisions.iter().filter(|(_, revision)| due(revision));
        lost.map(|((_, content), _)| content.as_str()).collect()
    }

    fn revision(&mut self, id: &str, content: &str) -> &mut Revision {
        let key = (id.to_owned(), content.to_owned());
        self.revisions.entry(key).or_default()
    }
}
