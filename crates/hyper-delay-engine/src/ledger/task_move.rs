//! Moves the due time of a task, and nothing else.

use std::sync::Arc;

use super::{Ledger, Outcome};
use hyper_delay_protocol::Terms;
use hyper_delay_store::{
    Store, StoreError,
    record::{Name, Place, key},
};

/// A move of the task that has this name when the operation is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskMove {
    /// The route of the task.
    pub route: Arc<str>,
    /// The id of the task.
    pub id: Arc<str>,
    /// The new due time.
    pub due: NewDueTime,
    /// The revision that is in flight. It is not moved.
    pub in_flight: Option<u64>,
}

/// The new due time of a task, in Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewDueTime {
    /// This time. A task that was due before keeps its time and its place.
    NotAfter(u64),
    /// This time.
    At(u64),
}

impl NewDueTime {
    /// Returns the time.
    #[must_use]
    pub const fn at(self) -> u64 {
        match self {
            Self::NotAfter(at) | Self::At(at) => at,
        }
    }

    /// Returns the place of a task that was at `place`. `None` for a dead letter.
    const fn place_after(self, place: Place) -> Option<Place> {
        match (place, self) {
            (Place::Dead(_), _) => None,
            (Place::Waiting(due) | Place::Parked(due), Self::NotAfter(at)) if due <= at => {
                Some(place)
            }
            (_, Self::NotAfter(at) | Self::At(at)) => Some(Place::Waiting(at)),
        }
    }
}

/// A task after its move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedTask {
    /// Its sequence number, which is that of before.
    pub seq: u64,
    /// When it is due, in Unix milliseconds.
    pub due: u64,
    /// Whether it is parked, because it was due and parked before.
    pub is_parked: bool,
    /// Number of its rounds so far.
    pub attempt: u32,
    /// Number of its failed rounds so far.
    pub failures: u32,
    /// What applies to the task instead of the settings.
    pub terms: Option<Box<Terms>>,
}

/// The reason why a task was not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmoved {
    /// There is no such task.
    NotFound,
    /// It is in flight.
    InFlight,
    /// It is a dead letter.
    Dead,
    /// It expires at this time in Unix milliseconds, which is not after the new due time.
    Expires(u64),
    /// The bulk operation is not for it.
    Unselected,
    /// It is due at the new time already.
    AlreadyThere,
    /// The new time of a relative move has passed, or is too far ahead.
    OutOfRange,
}

impl<S: Store> Ledger<S> {
    pub(super) fn move_task(&mut self, wanted: &TaskMove) -> Result<Outcome, StoreError> {
        let key = key::name(&wanted.route, &wanted.id);
        let Some(name) = self.rows.name(&key)? else {
            return Ok(Outcome::NotMoved(Unmoved::NotFound));
        };
        if wanted.in_flight == Some(name.seq) {
            return Ok(Outcome::NotMoved(Unmoved::InFlight));
        }
        let place = match new_place(&name, wanted.due) {
            Ok(place) => place,
            Err(reason) => return Ok(Outcome::NotMoved(reason)),
        };
        Ok(Outcome::Moved(self.put_at(
            (&wanted.route, &wanted.id),
            name,
            place,
        )))
    }

    /// Moves the task with this name to a place.
    pub(super) fn put_at(
        &mut self,
        (route, id): (&str, &str),
        name: Name,
        place: Place,
    ) -> MovedTask {
        let moved = Name {
            place,
            ..name.clone()
        };
        if moved.place != name.place {
            self.rows.remove_entry(route, &name);
            self.rows.put(route, id, key::name(route, id), &moved);
        }
        let (is_parked, due) = match place {
            Place::Parked(at) => (true, at),
            Place::Waiting(at) | Place::Dead(at) => (false, at),
        };
        MovedTask {
            seq: moved.seq,
            due,
            is_parked,
            attempt: moved.attempt,
            failures: moved.failures,
            terms: moved.terms,
        }
    }
}

/// Returns the place of a task after a move, or why it is not moved.
pub(super) fn new_place(name: &Name, due: NewDueTime) -> Result<Place, Unmoved> {
    let place = due.place_after(name.place).ok_or(Unmoved::Dead)?;
    let expires_at = name.terms.as_ref().and_then(|terms| terms.expires_at);
    match expires_at.filter(|at| *at <= due.at()) {
        Some(at) => Err(Unmoved::Expires(at)),
        None => Ok(place),
    }
}
