use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Record, TaggedFields, append, tagged_fields, take};
use crate::StoreError;
use hyper_delay_protocol::{BulkAct, BulkMove, BulkMoveTo, Filter, JobRow, TaskState};

/// A bulk operation, stored under its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkJob {
    /// The action on each task.
    pub act: JobAction,
    /// The route of the tasks.
    pub route: Box<str>,
    /// Only dead letters, or retrying tasks, with this reason; an empty one means those without a
    /// reason.
    pub reason: Option<Box<str>>,
    /// Only those from this time on, in Unix milliseconds.
    pub from: Option<u64>,
    /// Only those before this time, in Unix milliseconds.
    pub until: Option<u64>,
    /// Whether tasks in flight are removed, too.
    pub in_flight: bool,
    /// When it was begun, in Unix milliseconds.
    pub began_at: u64,
    /// The name of the token that began it.
    pub by: Option<Box<str>>,
    /// The address that it was begun from.
    pub address: Option<Box<str>>,
    /// Whether it is running or how it ended.
    pub state: JobState,
    /// When it ended, in Unix milliseconds; 0 while it runs.
    pub ended_at: u64,
    /// Number of tasks that were kicked, removed or moved.
    pub changed: u64,
    /// The key or the id after which it continues. Empty at the start.
    pub cursor: Box<[u8]>,
    /// Where it moves tasks, and which. Only for [`JobAction::Move`], which makes version 3 of the
    /// record: a server that cannot move must not run it.
    #[serde(skip)]
    pub task_move: BulkMove,
}

impl<'a> Record<'a> for BulkJob {
    fn has_tagged_fields(&self) -> bool {
        self.act == JobAction::Move
    }

    fn tagged_fields(&self, fields: &mut TaggedFields) {
        let BulkMove { to, state } = self.task_move;
        match to {
            BulkMoveTo::Now => {}
            BulkMoveTo::At(due) => fields.add(tagged_fields::MOVE_DUE, &append(&due, Vec::new())),
            BulkMoveTo::Later(shift) => {
                fields.add(tagged_fields::MOVE_SHIFT_MS, &append(&shift, Vec::new()));
            }
        }
        if let Some(state) = state {
            fields.add(tagged_fields::MOVE_STATE, state.as_str().as_bytes());
        }
    }

    fn set_tagged_field(&mut self, tag: u32, value: &'a [u8]) -> Result<bool, StoreError> {
        match tag {
            tagged_fields::MOVE_DUE => self.task_move.to = BulkMoveTo::At(take(value)?.0),
            tagged_fields::MOVE_SHIFT_MS => self.task_move.to = BulkMoveTo::Later(take(value)?.0),
            tagged_fields::MOVE_STATE => {
                let states = [TaskState::Waiting, TaskState::Parked, TaskState::Retrying];
                let mut states = states.into_iter();
                self.task_move.state = states.find(|state| state.as_str().as_bytes() == value);
                return Ok(self.task_move.state.is_some());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The action of a bulk operation. Append new variants and never move one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobAction {
    /// Makes dead letters due.
    Kick,
    /// Removes dead letters.
    Delete,
    /// Removes waiting, parked and dead tasks.
    Purge,
    /// Moves the due times of waiting and parked tasks. Only in records of version 3.
    Move,
}

/// Whether a bulk operation is running or how it ended. Append new variants and never move one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobState {
    /// It is running. A restart continues it.
    Running,
    /// It has looked at all tasks.
    Done,
    /// An operator has ended it.
    Stopped,
    /// It has met tasks that cannot be read.
    Failed,
}

impl JobState {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

impl From<BulkAct> for JobAction {
    fn from(act: BulkAct) -> Self {
        match act {
            BulkAct::Kick => Self::Kick,
            BulkAct::Delete => Self::Delete,
            BulkAct::Purge => Self::Purge,
            BulkAct::Move(_) => Self::Move,
        }
    }
}

impl BulkJob {
    /// Returns the action with its times.
    #[must_use]
    pub const fn act(&self) -> BulkAct {
        match self.act {
            JobAction::Kick => BulkAct::Kick,
            JobAction::Delete => BulkAct::Delete,
            JobAction::Purge => BulkAct::Purge,
            JobAction::Move => BulkAct::Move(self.task_move),
        }
    }

    /// Returns which tasks it selects.
    #[must_use]
    pub fn filter(&self) -> Filter {
        Filter {
            reason: self.reason.as_deref().map(Arc::from),
            from: self.from,
            until: self.until,
        }
    }

    /// Returns the row that operators receive.
    #[must_use]
    pub fn row(&self, job: u64) -> JobRow {
        JobRow {
            job,
            act: self.act().as_str(),
            route: (&*self.route).into(),
            state: self.state.as_str(),
            changed: self.changed,
            filter: self.filter(),
            task_move: self.act().task_move(),
            began_at: self.began_at,
            ended_at: Some(self.ended_at).filter(|at| *at > 0),
            by: self.by.as_deref().map(Arc::from),
            address: self.address.as_deref().map(Arc::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record;

    fn job(act: BulkAct) -> BulkJob {
        BulkJob {
            act: act.into(),
            route: "r".into(),
            reason: Some("m".into()),
            from: Some(5),
            until: None,
            in_flight: false,
            began_at: 7,
            by: None,
            address: None,
            state: JobState::Running,
            ended_at: 0,
            changed: 3,
            cursor: (*b"id").into(),
            task_move: act.task_move().unwrap_or_default(),
        }
    }

    #[test]
    fn moves_have_version_3_and_the_others_have_the_bytes_of_before() {
        let old = [
            1, 2, 1, b'r', 1, 1, b'm', 1, 5, 0, 0, 7, 0, 0, 0, 0, 3, 2, b'i', b'd',
        ];
        assert_eq!(*record::encode(&job(BulkAct::Purge)), old);
        for to in [BulkMoveTo::Now, BulkMoveTo::At(9), BulkMoveTo::Later(300)] {
            for state in [
                None,
                Some(TaskState::Waiting),
                Some(TaskState::Parked),
                Some(TaskState::Retrying),
            ] {
                let act = BulkAct::Move(BulkMove { to, state });
                let encoded = record::encode(&job(act));
                assert!(record::needs_version_3(&encoded));
                let decoded: BulkJob = record::decode(&encoded).unwrap();
                assert_eq!((&decoded, decoded.act()), (&job(act), act));
            }
        }
    }

    #[test]
    fn an_unknown_state_or_field_is_of_a_newer_server() {
        let state = Some(TaskState::Waiting);
        let to = BulkMoveTo::Now;
        let encoded = record::encode(&job(BulkAct::Move(BulkMove { to, state })));
        let place = encoded.windows(7).position(|bytes| bytes == b"waiting");
        let place = place.expect("the state is stored");
        let mut unknown = encoded.to_vec();
        unknown[place] = b'W';
        let error = record::decode::<BulkJob>(&unknown).unwrap_err();
        assert!(!error.is_damage(), "{error}");
        let mut unknown = encoded.to_vec();
        unknown[place - 2] = 99;
        let error = record::decode::<BulkJob>(&unknown).unwrap_err();
        assert!(!error.is_damage(), "{error}");
    }
}
