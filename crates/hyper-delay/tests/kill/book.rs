//! Records requests, replies and deliveries, and checks them against the server's promises.

use std::collections::HashMap;

use serde_json::Value;

use crate::content::{Content, difference};

/// The id and the content of a task. Every content starts with a unique word.
pub(crate) type Key = (String, String);

/// The number of kills before a run of the server.
pub(crate) type Life = u64;

#[derive(Debug, Default)]
pub(crate) struct Book {
    sent: HashMap<String, Content>,
    /// When each life began, in Unix milliseconds, or a little earlier.
    lives: Vec<u64>,
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
    /// The life in which the expired task was found to be gone.
    expired: Option<Life>,
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) acknowledged: u64,
    pub(crate) cancelled: u64,
    pub(crate) replaced: u64,
    pub(crate) deliveries: u64,
    pub(crate) redeliveries: u64,
    pub(crate) removed: u64,
    pub(crate) expired: u64,
    pub(crate) early: u64,
    pub(crate) again: u64,
    pub(crate) unknown: u64,
}

impl Book {
    pub(crate) fn sent(&mut self, word: &str, content: Content) {
        self.sent.insert(word.to_owned(), content);
    }

    /// Records that the next life begins at `now` (Unix milliseconds).
    pub(crate) fn begins(&mut self, now: u64) {
        self.lives.push(now);
    }

    pub(crate) fn acknowledged(&mut self, id: &str, content: &str) {
        let revision = self.revision(id, content);
        if !revision.acknowledged {
            revision.acknowledged = true;
            self.figures.acknowledged += 1;
        }
    }

    /// Records that a schedule was acknowledged again, and compares the times in the replies.
    pub(crate) fn repeated(
        &mut self,
        id: &str,
        content: &str,
        (first, again): (u64, u64),
        now: u64,
    ) {
        let is_there = self.revision(id, content).is_owed() && !self.sent[content].has_expired(now);
        if is_there && again != first {
            let fault = format!("{content} was due at {first}, and its repeat is at {again}");
            self.faults.push(fault);
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

    /// Records that an acknowledged task was not found at `now` or earlier. It is lost unless it has
    /// expired, or a consumer has sent an ack.
    pub(crate) fn not_found(&mut self, id: &str, content: &str, now: u64, life: Life) {
        let has_expired = self.sent[content].has_expired(now);
        let revision = self.revision(id, content);
        if revision.answered {
            return;
        }
        if has_expired {
            revision.expired.get_or_insert(life);
            self.figures.expired += 1;
        } else {
            let fault = format!("lost: {content} is not found: {revision:?}");
            self.faults.push(fault);
        }
    }

    /// Like [`not_found`](Self::not_found), of a request that does not remove the task itself.
    pub(crate) fn seen_gone(&mut self, id: &str, content: &str, now: u64, life: Life) {
        if !self.revision(id, content).withdrawn {
            self.not_found(id, content, now, life);
        }
    }

    /// Compares a stored task with its schedule.
    pub(crate) fn stored(&mut self, content: &str, task: &Value) {
        let difference = match self.sent.get(content) {
            Some(sent) => difference(task, sent),
            None => Some("it was never sent".to_owned()),
        };
        let fault = difference.map(|difference| format!("{content} is stored with {difference}"));
        self.faults.extend(fault);
    }

    /// Compares all stored tasks, by id and content, with what must be there while no server runs.
    pub(crate) fn audit(&mut self, stored: &HashMap<Key, Value>, now: u64) {
        for ((_, content), task) in stored {
            self.stored(content, task);
        }
        let sent = &self.sent;
        let wrong = self.revisions.iter().filter_map(|(key, revision)| {
            let is_gone = revision
                .removed
                .or(revision.superseded)
                .or(revision.expired);
            let is_owed = revision.is_owed() && !sent[&key.1].has_expired(now);
            match stored.contains_key(key) {
                true if is_gone.is_some() => Some(format!("{key:?} is back: {revision:?}")),
                false if is_owed => Some(format!("{key:?} is lost: {revision:?}")),
                _ => None,
            }
        });
        self.faults.extend(wrong);
    }

    /// Records a delivery that was read at `now` (Unix milliseconds) from a connection of `life`.
    /// On a hedged route, another copy may be in flight when the task is acknowledged.
    pub(crate) fn delivered(
        &mut self,
        id: &str,
        (content, delivery): (&str, &Value),
        now: u64,
        life: Life,
        is_hedged: bool,
    ) {
        self.figures.deliveries += 1;
        let Some(sent) = self.sent.get(content) else {
            self.figures.unknown += 1;
            return self.faults.push(format!("never sent: {content}"));
        };
        if now < sent.fire_at {
            let early = sent.fire_at - now;
            self.figures.early += 1;
            self.faults.push(format!("early by {early} ms: {content}"));
        }
        let headers = delivery.get("headers");
        if headers != sent.fields.get("headers") {
            let fault = format!("{content} is delivered with {headers:?}, and not {sent:?}");
            self.faults.push(fault);
        }
        let begun = self.lives[usize::try_from(life).expect("a number of kills")];
        let had_expired = sent.has_expired(begun);
        if had_expired {
            let fault =
                format!("delivered in life {life}, and it had expired: {content}: {sent:?}");
            self.faults.push(fault);
        }
        let revision = self.revision(id, content);
        revision.deliveries += 1;
        let redelivered = revision.deliveries > 1;
        // In the same life, the delivery may have been in flight on another connection when the
        // task was cancelled or replaced.
        let is_past = |then: Life| then < life;
        let is_removed = |then: Life| !is_hedged || is_past(then);
        let gone = revision.superseded.or(revision.expired);
        let again = revision.removed.is_some_and(is_removed) || gone.is_some_and(is_past);
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
    /// answered. Those that can expire are left out: when they were looked for, they were compared.
    pub(crate) fn lost(&self) -> Vec<&str> {
        let is_endless = |content: &str| self.sent[content].expires_at().is_none();
        let lost = self
            .revisions
            .iter()
            .filter(|((_, content), revision)| revision.is_owed() && is_endless(content));
        lost.map(|((_, content), _)| content.as_str()).collect()
    }

    fn revision(&mut self, id: &str, content: &str) -> &mut Revision {
        let key = (id.to_owned(), content.to_owned());
        self.revisions.entry(key).or_default()
    }
}

impl Revision {
    /// Whether the server must have it, unless it has expired.
    const fn is_owed(&self) -> bool {
        self.acknowledged && !self.withdrawn && !self.answered
    }
}
