use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString as _},
};

use crate::{
    Moment,
    observe::{Event, EventKind, Refusal},
};

/// One line of the picture: an attempt, or a candidate that has not started.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) note: Option<String>,
    pub(super) started: Option<Moment>,
    pub(super) committed: Option<Moment>,
    pub(super) ended: Option<(Moment, EventKind)>,
    /// The latest reason why it could not start.
    refused: Option<Refusal>,
}

impl Lane {
    pub(super) fn observe(&mut self, event: Event) {
        match event.kind {
            EventKind::Started => self.started = Some(event.at),
            EventKind::Refused(by) => self.refused = Some(by),
            EventKind::Committed => self.committed = Some(event.at),
            kind => self.ended = Some((event.at, kind)),
        }
    }

    pub(super) fn has_started(&self) -> bool {
        self.started.is_some()
    }

    pub(super) fn is_named(&self) -> bool {
        !self.name.is_empty()
    }

    /// Resets everything but the name.
    pub(super) fn reset(&mut self) {
        let name = core::mem::take(&mut self.name);
        *self = Self {
            name,
            ..Self::default()
        };
    }

    /// Returns the character at the end of the bar.
    pub(super) fn mark(&self) -> char {
        match self.ended {
            Some((_, EventKind::Won | EventKind::Finished)) => '●',
            Some((_, EventKind::Failed | EventKind::TimedOut)) => '✗',
            _ => '╌',
        }
    }

    /// Returns the outcome in words. `began` is the start of the race.
    pub(super) fn outcome(&self, began: Moment) -> String {
        let Some((at, kind)) = self.ended else {
            return match (self.started, self.refused) {
                (Some(_), _) => match self.committed {
                    Some(at) => {
                        let committed = self.with_note("committed");
                        format!("{committed} after {} ms", at.since(began).as_millis())
                    }
                    None => self.with_note("still running"),
                },
                (None, None) => "not started".to_owned(),
                (None, Some(by)) => format!("not started: {}", EventKind::Refused(by)),
            };
        };
        match kind {
            EventKind::Won => {
                let won = self.with_note("won");
                format!("{won} after {} ms", at.since(began).as_millis())
            }
            // The mark at the end of the bar tells these two apart, so the note alone is enough.
            EventKind::Failed | EventKind::Finished => match &self.note {
                Some(note) => note.clone(),
                None => kind.to_string(),
            },
            kind => self.with_note(&kind.to_string()),
        }
    }

    fn with_note(&self, outcome: &str) -> String {
        match &self.note {
            Some(note) => format!("{outcome}: {note}"),
            None => outcome.to_owned(),
        }
    }
}
