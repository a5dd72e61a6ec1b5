//! Moves many tasks of a route.

use super::{Ledger, Outcome, Sweep, SweepMove, Unmoved, task_move::new_place};
use hyper_delay_protocol::{BulkMove, Filter, TaskState};
use hyper_delay_store::{
    Store, StoreError,
    record::{JobAction, Name, Place},
};

/// Returns whether a bulk operation that moves tasks is for the task with this name.
#[must_use]
pub(crate) fn selects(moved: BulkMove, filter: &Filter, name: &Name) -> bool {
    let (Place::Waiting(due) | Place::Parked(due)) = name.place else {
        return false;
    };
    let has_state = match moved.state {
        None => true,
        Some(TaskState::Retrying) => name.is_retrying(),
        Some(state) => name.place.state() == state,
    };
    let reason = || {
        let failure = name.failure.as_ref()?;
        failure.reason.as_deref()
    };
    let has_reason = filter.reason.is_none() || name.is_retrying() && filter.has_reason(reason());
    has_state && has_reason && filter.has_time(due)
}

impl<S: Store> Ledger<S> {
    /// Moves one of many tasks, if the bulk operation is still for it. `name` is that of its revision,
    /// if that is still there.
    pub(super) fn sweep_move(
        &mut self,
        sweep: &Sweep,
        moved: SweepMove,
        name: Option<Name>,
    ) -> Result<Outcome, StoreError> {
        let Some((id, name)) = sweep.job.zip(name) else {
            return Ok(Outcome::NotMoved(Unmoved::NotFound));
        };
        let job = self.jobs.find(id).filter(|job| job.act == JobAction::Move);
        let is_wanted = job.is_some_and(|job| selects(job.task_move, &job.filter(), &name));
        if !is_wanted {
            return Ok(Outcome::NotMoved(Unmoved::Unselected));
        }
        let Some(due) = moved.due_after(name.place.at()) else {
            return Ok(Outcome::NotMoved(Unmoved::OutOfRange));
        };
        match new_place(&name, due) {
            Err(reason) => Ok(Outcome::NotMoved(reason)),
            Ok(place) if place == name.place => Ok(Outcome::NotMoved(Unmoved::AlreadyThere)),
            Ok(place) => {
                self.jobs.count_moved(id, &sweep.id);
                let task = (&*sweep.route, &*sweep.id);
                Ok(Outcome::Moved(self.put_at(task, name, place)))
            }
        }
    }
}
