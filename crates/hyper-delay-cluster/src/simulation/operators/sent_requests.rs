//! The requests of operators that may take effect. Each does once at the most, but one without an
//! answer can at any time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::simulation::task_name::TaskName;
use hyper_delay_protocol::{AdminRequest, BulkAct, BulkRequest};
use hyper_delay_store::record::BulkJob;

/// See the [module](self).
#[derive(Debug, Default)]
pub(in crate::simulation) struct SentRequests {
    pauses: BTreeMap<Arc<str>, RequestCounts>,
    resumes: BTreeMap<Arc<str>, RequestCounts>,
    kicked: BTreeSet<TaskName>,
    deleted: BTreeSet<TaskName>,
    /// Those that have not begun.
    bulk: Vec<BulkRequest>,
    stopped: BTreeSet<u64>,
}

/// Requests that change the state of a route.
#[derive(Debug, Clone, Copy, Default)]
struct RequestCounts {
    sent: u64,
    answered: u64,
    /// How many have changed it.
    effects: u64,
}

impl SentRequests {
    /// A request is sent.
    pub(super) fn sent(&mut self, request: &AdminRequest) {
        match request.clone() {
            AdminRequest::Pause { route } => self.pauses.entry(route).or_default().sent += 1,
            AdminRequest::Resume { route } => self.resumes.entry(route).or_default().sent += 1,
            AdminRequest::Kick { route, id } => {
                self.kicked.insert(TaskName { route, id });
            }
            AdminRequest::Delete { route, id } => {
                self.deleted.insert(TaskName { route, id });
            }
            AdminRequest::Bulk(bulk) => self.bulk.push(*bulk),
            AdminRequest::Stop { job } => {
                self.stopped.insert(job);
            }
        }
    }

    /// A request is answered: it takes effect no more.
    pub(super) fn answered(&mut self, request: &AdminRequest) {
        let changes = match request {
            AdminRequest::Pause { route } => self.pauses.get_mut(route),
            AdminRequest::Resume { route } => self.resumes.get_mut(route),
            _ => None,
        };
        if let Some(changes) = changes {
            changes.answered += 1;
        }
    }

    /// A route is paused. Returns whether that was asked for.
    pub(super) fn paused(&mut self, route: &str) -> bool {
        self.pauses
            .get_mut(route)
            .is_some_and(RequestCounts::take_effect)
    }

    /// A route is resumed. Returns whether that was asked for.
    pub(super) fn resumed(&mut self, route: &str) -> bool {
        let changes = self.resumes.get_mut(route);
        changes.is_some_and(RequestCounts::take_effect)
    }

    /// Returns whether a request to pause a route may not have taken effect.
    pub(super) fn may_pause(&self, route: &str) -> bool {
        self.pauses.get(route).is_some_and(RequestCounts::is_open)
    }

    /// Returns whether a request to resume a route may not have taken effect.
    pub(super) fn may_resume(&self, route: &str) -> bool {
        self.resumes.get(route).is_some_and(RequestCounts::is_open)
    }

    /// Returns the routes with pauses that have not been answered.
    pub(super) fn pausing(&self) -> impl Iterator<Item = &Arc<str>> {
        let pauses = self.pauses.iter();
        pauses
            .filter(|(_, changes)| changes.is_open())
            .map(|(route, _)| route)
    }

    pub(super) fn is_kicked(&self, name: &TaskName) -> bool {
        self.kicked.contains(name)
    }

    pub(super) fn is_deleted(&self, name: &TaskName) -> bool {
        self.deleted.contains(name)
    }

    pub(super) fn is_stopped(&self, job: u64) -> bool {
        self.stopped.contains(&job)
    }

    /// A bulk operation begins. Returns whether it was asked for. Of several such requests it takes the
    /// one with the earliest end: later operations may match only the others.
    pub(super) fn begun(&mut self, job: &BulkJob) -> bool {
        let asked = self.bulk.iter().enumerate();
        let asked = asked.filter(|(_, asked)| matches_request(job, asked));
        let first = asked.min_by_key(|(_, asked)| asked.filter.until.unwrap_or(u64::MAX));
        let place = first.map(|(place, _)| place);
        let asked = place.map(|place| self.bulk.remove(place));
        asked.is_some()
    }
}

impl RequestCounts {
    fn take_effect(&mut self) -> bool {
        self.effects += 1;
        self.effects <= self.sent
    }

    fn is_open(&self) -> bool {
        self.answered < self.sent
    }
}

/// Returns whether a bulk operation is the one that was asked for. Its end in time is not later.
fn matches_request(job: &BulkJob, asked: &BulkRequest) -> bool {
    let until = asked.filter.until;
    let has_until = match asked.act {
        BulkAct::Kick | BulkAct::Delete => {
            let end = job.until;
            end.is_some_and(|end| until.is_none_or(|until| end <= until))
        }
        BulkAct::Purge => job.until.is_none(),
        BulkAct::Move(_) => job.until == until,
    };
    (job.act(), &*job.route) == (asked.act, &*asked.route)
        && job.reason.as_deref() == asked.filter.reason.as_deref()
        && job.from == asked.filter.from
        && has_until
        && job.in_flight == asked.in_flight
}
