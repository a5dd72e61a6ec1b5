//! Moves of the due times of many tasks.

use super::{
    Code, TaskState,
    due::{time_too_far_ahead, too_far_ahead},
    field::{EXACT, FieldError},
    json_writer::JsonWriter,
    request_fields::RequestFields,
    unix_time,
};

/// A change of the due times of many tasks of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct BulkMove {
    /// The new due times.
    pub to: BulkMoveTo,
    /// Only tasks in this state: waiting, parked or retrying. Default: waiting and parked ones.
    pub state: Option<TaskState>,
}

/// The new due times of tasks that are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum BulkMoveTo {
    /// The time at which each is moved.
    #[default]
    Now,
    /// This time in Unix milliseconds, at most 2^53.
    At(u64),
    /// For each task its due time and this many milliseconds more, 1 to 2^53.
    Later(u64),
}

impl BulkMove {
    /// The states that a filter can have.
    const STATES: [TaskState; 3] = [TaskState::Waiting, TaskState::Parked, TaskState::Retrying];

    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self.to {
            BulkMoveTo::Now => "run_now_all",
            BulkMoveTo::At(_) | BulkMoveTo::Later(_) => "reschedule_all",
        }
    }

    /// Returns the time that all tasks are moved to, if it is one, in Unix milliseconds.
    #[must_use]
    pub const fn due(self) -> Option<u64> {
        match self.to {
            BulkMoveTo::At(due) => Some(due),
            BulkMoveTo::Now | BulkMoveTo::Later(_) => None,
        }
    }

    /// Returns by how many milliseconds each task is moved, if it is the same for all.
    #[must_use]
    pub const fn shift_ms(self) -> Option<u64> {
        match self.to {
            BulkMoveTo::Later(shift) => Some(shift),
            BulkMoveTo::Now | BulkMoveTo::At(_) => None,
        }
    }

    /// Refuses a move that is more than `most` milliseconds ahead of `now`, in Unix milliseconds.
    ///
    /// # Errors
    ///
    /// The error names the value and the latest one.
    pub fn check(self, now: u64, most: u64) -> Result<(), String> {
        let latest = now.saturating_add(most);
        match self.to {
            BulkMoveTo::At(due) if due > latest => Err(time_too_far_ahead("due", due, latest)),
            BulkMoveTo::Later(shift) if shift > most => Err(too_far_ahead("shift_ms", shift, most)),
            _ => Ok(()),
        }
    }

    /// Reads a move of tasks to the time of the request.
    pub(super) fn read_run_now(fields: &RequestFields<'_>) -> Result<Self, FieldError> {
        Self::read(BulkMoveTo::Now, fields)
    }

    /// Reads a move to the time `due`, or by `shift_ms`.
    pub(super) fn read_reschedule(fields: &RequestFields<'_>) -> Result<Self, FieldError> {
        let due = unix_time::millis(fields.due())?;
        let shift = fields.shift_ms().number("milliseconds", 1..=EXACT)?;
        let to = match (due, shift) {
            (Some(due), None) => BulkMoveTo::At(due),
            (None, Some(shift)) => BulkMoveTo::Later(shift),
            (None, None) => {
                return Err(FieldError {
                    code: Code::MissingField,
                    message: "due and shift_ms are missing: give one of them".to_owned(),
                });
            }
            (Some(_), Some(shift)) => {
                let wanted = "give either due or shift_ms";
                return Err(fields.shift_ms().bad(&shift.to_string(), wanted));
            }
        };
        Self::read(to, fields)
    }

    fn read(to: BulkMoveTo, fields: &RequestFields<'_>) -> Result<Self, FieldError> {
        let state = fields.state().one_of(&Self::STATES, TaskState::as_str)?;
        Ok(Self { to, state })
    }

    /// Appends the fields of a job or of a line of the audit.
    pub(super) fn fields<'a, W: std::io::Write>(
        moved: Option<Self>,
        object: JsonWriter<'a, W>,
    ) -> JsonWriter<'a, W> {
        let state = moved.and_then(|moved| moved.state);
        object
            .optional("task_state", state.map(TaskState::as_str))
            .optional("due", moved.and_then(Self::due))
            .optional("shift_ms", moved.and_then(Self::shift_ms))
    }
}
