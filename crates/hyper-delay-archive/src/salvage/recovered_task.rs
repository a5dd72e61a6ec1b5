use std::fmt;

use serde::Serialize;

use super::task_join::TaskParts;
use hyper_delay_protocol::Terms;
use hyper_delay_store::record::{self, Digest, Name, Place, Task};

/// A task that was read completely enough to be written to a new store or exported.
#[derive(Debug)]
pub(super) struct RecoveredTask {
    pub(super) route: Box<str>,
    pub(super) id: Box<str>,
    pub(super) name: Name,
    /// The reason for its death, if it is a dead letter whose content could not be read.
    pub(super) reason: Option<Box<str>>,
    /// The encoded content.
    pub(super) content: Vec<u8>,
    /// Whether `names` has a readable row of it. If not, it can be an old revision.
    pub(super) is_named: bool,
}

/// A task that cannot be recovered, because too little of it is readable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct LostTask {
    /// The sequence number of the revision.
    pub seq: u64,
    /// The route, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route_key: Option<Box<str>>,
    /// The id, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Box<str>>,
    /// Which part is missing.
    pub reason: String,
    /// The scheduled time in Unix milliseconds, if only the content is readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fire_at: Option<u64>,
}

impl TaskParts {
    /// Assembles a task from its newest state row and its content.
    pub(super) fn recover(self) -> Result<RecoveredTask, LostTask> {
        let Self {
            seq,
            state_rows,
            content,
        } = self;
        let digest = state_rows.iter().find_map(|state_row| state_row.digest);
        let reason = state_rows
            .iter()
            .find_map(|state_row| state_row.reason.clone());
        let Some(state_row) = state_rows.iter().max_by_key(|state_row| state_row.rank()) else {
            let content = content.as_deref().map(record::decode::<Task<'_>>);
            return Err(LostTask {
                seq,
                route_key: None,
                id: None,
                reason: "only its content is left: its name is not readable or it was removed"
                    .to_owned(),
                fire_at: content.and_then(|content| Some(content.ok()?.fire_at)),
            });
        };
        let is_named = digest.is_some();
        let failure = state_rows
            .iter()
            .filter(|other| other.has_rounds_of(state_row))
            .find_map(|other| other.failure.clone());
        let found = match check(content.as_deref(), digest) {
            Ok(found) => found,
            Err(reason) => {
                return Err(LostTask {
                    seq,
                    route_key: Some(state_row.route().into()),
                    id: Some(state_row.id().into()),
                    reason,
                    fire_at: None,
                });
            }
        };
        Ok(RecoveredTask {
            name: Name {
                seq,
                fire_at: found.fire_at,
                place: state_row.place,
                attempt: state_row.attempt,
                failures: state_row.failures,
                digest: found.digest,
                bytes: found.bytes,
                terms: found.terms,
                failure,
            },
            reason: reason.filter(|_| matches!(state_row.place, Place::Dead(_))),
            is_named,
            route: state_row.route().into(),
            id: state_row.id().into(),
            content: content.unwrap_or_default(),
        })
    }
}

/// The fields of a task that its content determines.
struct ContentFields {
    fire_at: u64,
    digest: Digest,
    /// The length of the payload.
    bytes: u64,
    terms: Option<Box<Terms>>,
}

/// Returns the fields of a task that its content determines. The content must be readable and match
/// `digest`.
fn check(content: Option<&[u8]>, digest: Option<Digest>) -> Result<ContentFields, String> {
    let content = content.ok_or("its content is missing or not readable")?;
    let task: Task<'_> = record::decode(content)
        .map_err(|error| format!("its content is not readable: {}", error.reason()))?;
    let found = task.digest();
    if digest.is_some_and(|digest| digest != found) {
        return Err("its content is not the one that was scheduled".to_owned());
    }
    Ok(ContentFields {
        fire_at: task.fire_at,
        digest: found,
        bytes: task.payload.len() as u64,
        terms: task.terms,
    })
}

impl fmt::Display for LostTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.route_key, &self.id) {
            (Some(route), Some(id)) => write!(f, "task {id:?} of route {route:?}")?,
            _ => f.write_str("a task")?,
        }
        write!(f, " (sequence number {}): {}", self.seq, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::salvage::{row::LiveRow, task_state_row::TaskStateRow};
    use hyper_delay_engine::ledger::entry_key;
    use hyper_delay_protocol::{Compression, FailureKind, LastFailure};
    use hyper_delay_store::{
        Space,
        record::{TaskEntry, key},
    };

    /// The name of a task whose second round has failed.
    fn failed(place: Place) -> Name {
        let content = content();
        let content: Task<'_> = record::decode(&content).unwrap();
        Name {
            seq: 7,
            fire_at: content.fire_at,
            place,
            attempt: 2,
            failures: 2,
            digest: content.digest(),
            bytes: content.payload.len() as u64,
            terms: None,
            failure: Some(Box::new(LastFailure {
                at: 40,
                kind: FailureKind::AckTimeout,
                reason: None,
            })),
        }
    }

    fn content() -> Vec<u8> {
        let task = Task {
            fire_at: 30,
            compression: Compression::None,
            payload: b"hello",
            terms: None,
            headers: "",
            delay_ms: None,
        };
        record::encode(&task).to_vec()
    }

    /// Recovers a task from a row of `names` and the row of its entry, which has this age.
    fn recovered(in_names: &Name, entry: &Name, age: u64) -> Name {
        let name_row = LiveRow {
            key: key::name("r", "a").to_vec(),
            seqno: 10,
            value: record::encode(in_names).to_vec(),
        };
        let (space, place) = entry_key("r", entry);
        let entry_row = LiveRow {
            key: place.to_vec(),
            seqno: age,
            value: record::encode(&TaskEntry::of("r", "a", entry)).to_vec(),
        };
        let parts = TaskParts {
            seq: in_names.seq,
            state_rows: vec![
                TaskStateRow::read(Space::Names, &name_row).unwrap(),
                TaskStateRow::read(space, &entry_row).unwrap(),
            ],
            content: Some(content()),
        };
        parts.recover().unwrap().name
    }

    #[test]
    fn a_newer_entry_keeps_the_failure_unless_the_task_was_kicked_or_had_another_round() {
        let before = failed(Place::Waiting(50));
        let parked = failed(Place::Parked(50));
        assert_eq!(recovered(&before, &parked, 11), parked);
        let dead = failed(Place::Dead(45));
        let rounds = |name: &Name, attempt, failures| Name {
            attempt,
            failures,
            ..name.clone()
        };
        for (in_names, newer) in [
            (&before, rounds(&before, 3, 3)),
            (&before, rounds(&before, 3, 0)),
            (&dead, rounds(&before, 2, 0)),
            (&rounds(&dead, 2, 0), rounds(&before, 2, 0)),
        ] {
            let recovered = recovered(in_names, &newer, 11);
            assert_eq!(recovered.failure, None, "{newer:?}");
            assert_eq!(recovered.place, newer.place);
        }
        for age in [9, 10] {
            let older = rounds(&before, 1, 1);
            assert_eq!(recovered(&before, &older, age), before);
        }
    }
}
