use std::fmt;

use serde::Serialize;

use super::join::Joined;
use hyper_delay_protocol::Terms;
use hyper_delay_store::record::{self, Digest, Name, Place, Task};

/// A task that can be saved.
#[derive(Debug)]
pub(super) struct Saved {
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

/// A task that cannot be saved, because too little of it is readable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Lost {
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

impl Joined {
    /// Assembles a task from its newest claim and its content.
    pub(super) fn save(self) -> Result<Saved, Lost> {
        let Self {
            seq,
            claims,
            content,
        } = self;
        let digest = claims.iter().find_map(|claim| claim.digest);
        let reason = claims.iter().find_map(|claim| claim.reason.clone());
        let Some(claim) = claims.into_iter().max_by_key(|claim| claim.rank()) else {
            let content = content.as_deref().map(record::decode::<Task<'_>>);
            return Err(Lost {
                seq,
                route_key: None,
                id: None,
                reason: "only its content is left: its name is not readable or it was removed"
                    .to_owned(),
                fire_at: content.and_then(|content| Some(content.ok()?.fire_at)),
            });
        };
        let is_named = digest.is_some();
        let found = match check(content.as_deref(), digest) {
            Ok(found) => found,
            Err(reason) => {
                return Err(Lost {
                    seq,
                    route_key: Some(claim.route().into()),
                    id: Some(claim.id().into()),
                    reason,
                    fire_at: None,
                });
            }
        };
        Ok(Saved {
            name: Name {
                seq,
                fire_at: found.fire_at,
                place: claim.place,
                attempt: claim.attempt,
                failures: claim.failures,
                digest: found.digest,
                bytes: found.bytes,
                terms: found.terms,
            },
            reason: reason.filter(|_| matches!(claim.place, Place::Dead(_))),
            is_named,
            route: claim.route().into(),
            id: claim.id().into(),
            content: content.unwrap_or_default(),
        })
    }
}

/// What a content says of its task.
struct Found {
    fire_at: u64,
    digest: Digest,
    /// The length of the payload.
    bytes: u64,
    terms: Option<Box<Terms>>,
}

/// Returns what a content says of its task. It must be readable and match `digest`.
fn check(content: Option<&[u8]>, digest: Option<Digest>) -> Result<Found, String> {
    let content = content.ok_or("its content is missing or not readable")?;
    let task: Task<'_> = record::decode(content)
        .map_err(|error| format!("its content is not readable: {}", error.reason()))?;
    let found = task.digest();
    if digest.is_some_and(|digest| digest != found) {
        return Err("its content is not the one that was scheduled".to_owned());
    }
    Ok(Found {
        fire_at: task.fire_at,
        digest: found,
        bytes: task.payload.len() as u64,
        terms: task.terms,
    })
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.route_key, &self.id) {
            (Some(route), Some(id)) => write!(f, "task {id:?} of route {route:?}")?,
            _ => f.write_str("a task")?,
        }
        write!(f, " (sequence number {}): {}", self.seq, self.reason)
    }
}
