use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString as _},
};

use crate::{Event, Moment, Suppressed, What};

/// An attempt, or a candidate for one.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) note: Option<String>,
    pub(super) started: Option<Moment>,
    pub(super) ended: Option<(Moment, What)>,
    /// What kept it from starting.
    suppressed: Option<Suppressed>,
}

impl Lane {
    pub(super) fn observe(&mut self, event: Event) {
        match event.what {
            What::Started => self.started = Some(event.at),
            What::Suppressed(by) => self.suppressed = Some(by),
            what => self.ended = Some((event.at, what)),
        }
    }

    pub(super) fn has_started(&self) -> bool {
        self.started.is_some()
    }

    pub(super) fn is_named(&self) -> bool {
        !self.name.is_empty()
    }

    /// All but the name.
    pub(super) fn forget(&mut self) {
        let name = core::mem::take(&mut self.name);
        *self = Self {
            name,
            ..Self::default()
        };
    }

    pub(super) fn mark(&self) -> char {
        match self.ended {
            Some((_, What::Won | What::Finished)) => '●',
            Some((_, What::Failed | What::TimedOut)) => '✗',
            _ => '╌',
        }
    }

    /// What became of it, in words.
    pub(super) fn outcome(&self, began: Moment) -> String {
        let Some((at, what)) = self.ended else {
            return match (self.started, self.suppressed) {
                (Some(_), _) => self.with_note("still running"),
                (None, None) => "not started".to_owned(),
                (None, Some(by)) => format!("not started: {}", What::Suppressed(by)),
            };
        };
        match what {
            What::Won => {
                let won = self.with_note("won");
                format!("{won} after {} ms", at.since(began).as_millis())
            }
            // Its mark says what it was.
            What::Failed | What::Finished => match &self.note {
                Some(note) => note.clone(),
                None => what.to_string(),
            },
            what => self.with_note(&what.to_string()),
        }
    }

    fn with_note(&self, what: &str) -> String {
        match &self.note {
            Some(note) => format!("{what}: {note}"),
            None => what.to_owned(),
        }
    }
}
