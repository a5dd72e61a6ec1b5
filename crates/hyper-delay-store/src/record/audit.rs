use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Record, sharded_number};
use crate::{Bytes, StoreError};
use hyper_delay_protocol::{AuditRow, BulkMove, BulkMoveTo, Filter, TaskState};

/// An action of an operator, stored in a ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    /// Its number, counted from 1 in each shard.
    pub number: u64,
    /// The time of the action, in Unix milliseconds.
    pub at: u64,
    /// The action.
    pub act: Box<str>,
    /// The route.
    pub route: Box<str>,
    /// The task, if it was one.
    pub id: Option<Box<str>>,
    /// The bulk operation, if it is about one.
    pub job: Option<u64>,
    /// Number of tasks that a bulk operation changed, at its end.
    pub tasks: Option<u64>,
    /// The name of the token.
    pub by: Option<Box<str>>,
    /// The address of the connection.
    pub address: Option<Box<str>>,
    /// Which tasks a bulk operation is for. Stored after the other fields, so that older servers
    /// read those.
    #[serde(skip)]
    pub filter: Option<AuditFilter>,
    /// Where a bulk operation moves tasks, and which. Stored after the filter, so that older servers
    /// read what is before.
    #[serde(skip)]
    pub task_move: Option<BulkMove>,
}

/// Which tasks a bulk operation is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFilter {
    /// Only dead letters, or retrying tasks, with this reason.
    pub reason: Option<Box<str>>,
    /// Only those from this time on, in Unix milliseconds.
    pub from: Option<u64>,
    /// Only those before this time, in Unix milliseconds.
    pub until: Option<u64>,
    /// Whether tasks in flight are removed, too.
    pub in_flight: bool,
}

/// Where a bulk operation moves tasks, and which.
#[derive(Debug, Serialize, Deserialize)]
struct AuditMove<'a> {
    /// The name of the state.
    state: Option<&'a str>,
    due: Option<u64>,
    shift_ms: Option<u64>,
}

impl From<BulkMove> for AuditMove<'_> {
    fn from(moved: BulkMove) -> Self {
        Self {
            state: moved.state.map(TaskState::as_str),
            due: moved.due(),
            shift_ms: moved.shift_ms(),
        }
    }
}

impl From<AuditMove<'_>> for BulkMove {
    fn from(moved: AuditMove<'_>) -> Self {
        let states = [TaskState::Waiting, TaskState::Parked, TaskState::Retrying];
        let mut states = states.into_iter();
        Self {
            to: match (moved.due, moved.shift_ms) {
                (Some(due), _) => BulkMoveTo::At(due),
                (None, Some(shift)) => BulkMoveTo::Later(shift),
                (None, None) => BulkMoveTo::Now,
            },
            state: states.find(|state| moved.state == Some(state.as_str())),
        }
    }
}

impl Record<'_> for AuditLine {}

impl AuditLine {
    /// The number of lines that a shard keeps: the newest ones.
    pub const RETAINED: u64 = 1_000;

    /// Returns its slot in the ring of its shard.
    #[must_use]
    pub const fn ring_slot(&self) -> u64 {
        sharded_number::ring_slot_of(self.number, Self::RETAINED)
    }

    /// Encodes it.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        match (&self.filter, self.task_move) {
            (Some(filter), Some(moved)) => {
                super::encode_pair(self, &(filter, AuditMove::from(moved)))
            }
            (Some(filter), None) => super::encode_pair(self, filter),
            (None, _) => super::encode(self),
        }
    }

    /// Decodes it. A line of an older server has no filter.
    ///
    /// # Errors
    ///
    /// If it cannot be decoded.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let (line, mut rest): (Self, _) = super::decode_with_rest(bytes)?;
        let (mut filter, mut task_move) = (None, None);
        if !rest.is_empty() {
            let (stored, after) = super::take(rest)?;
            (filter, rest) = (Some(stored), after);
        }
        if !rest.is_empty() {
            let moved: AuditMove<'_> = super::take(rest)?.0;
            task_move = Some(moved.into());
        }
        Ok(Self {
            filter,
            task_move,
            ..line
        })
    }

    /// Returns the row that operators receive.
    #[must_use]
    pub fn row(&self) -> AuditRow {
        let filter = self.filter.as_ref();
        AuditRow {
            number: self.number,
            at: self.at,
            act: (&*self.act).into(),
            route: (&*self.route).into(),
            id: self.id.as_deref().map(Arc::from),
            job: self.job,
            tasks: self.tasks,
            filter: Filter {
                reason: filter.and_then(|it| it.reason.as_deref().map(Arc::from)),
                from: filter.and_then(|it| it.from),
                until: filter.and_then(|it| it.until),
            },
            task_move: self.task_move,
            in_flight: filter.is_some_and(|it| it.in_flight),
            by: self.by.as_deref().map(Arc::from),
            address: self.address.as_deref().map(Arc::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record;

    #[test]
    fn lines_of_older_servers_are_read_and_they_read_those_of_this_one() {
        let line = AuditLine {
            number: 1,
            at: 2,
            act: "kick_all".into(),
            route: "r".into(),
            id: None,
            job: Some(3),
            tasks: None,
            by: None,
            address: None,
            filter: None,
            task_move: None,
        };
        let old = record::encode(&line);
        assert_eq!(line.encode(), old);
        assert_eq!(AuditLine::decode(&old).unwrap(), line);
        let filter = Some(AuditFilter {
            reason: Some("m".into()),
            from: None,
            until: Some(9),
            in_flight: true,
        });
        let new = AuditLine {
            filter,
            ..line.clone()
        };
        assert_eq!(AuditLine::decode(&new.encode()).unwrap(), new);
        assert_eq!(record::decode::<AuditLine>(&new.encode()).unwrap(), line);
        for (to, state) in [
            (BulkMoveTo::Now, None),
            (BulkMoveTo::At(5), Some(TaskState::Waiting)),
            (BulkMoveTo::Later(6), Some(TaskState::Retrying)),
        ] {
            let moved = AuditLine {
                task_move: Some(BulkMove { to, state }),
                ..new.clone()
            };
            let encoded = moved.encode();
            assert_eq!(AuditLine::decode(&encoded).unwrap(), moved);
            // A server of version 0.3 reads a pair, and ignores what follows.
            let (old, filter) = record::decode_pair::<AuditLine, AuditFilter>(&encoded).unwrap();
            assert_eq!((old, filter), (line.clone(), new.filter.clone()));
        }
        let mut damaged = new.encode().to_vec();
        damaged.pop();
        AuditLine::decode(&damaged).unwrap_err();
    }
}
