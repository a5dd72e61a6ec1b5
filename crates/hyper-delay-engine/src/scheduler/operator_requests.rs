//! Handles the requests of operators: kick, delete, pause, resume and bulk operations.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{CommitToken, RequestId, Scheduler, bulk::RunningBulkJob};
use crate::{
    ledger::{Actor, AuditedChange, AuditedOp, NewBulkJob, Op, Outcome},
    sizes::Size,
};
use hyper_delay_protocol::{AdminRequest, BulkAct, BulkRequest, Code, Filter, Refusal, Reply};
use hyper_delay_store::{Store, record::JobAction};

/// The most bulk operations that are not done.
const JOBS: usize = 16;

/// The target of the lines of the audit in the log. No filter of the command leaves them out.
pub const AUDIT_TARGET: &str = "hyper_delay::audit";

/// A request of an operator.
#[derive(Debug)]
pub struct OperatorRequest {
    /// The request.
    pub request: AdminRequest,
    /// The operator.
    pub actor: Actor,
}

/// The stored requests of operators that are in force at the start.
#[derive(Debug, Default)]
pub struct OperatorState {
    /// Routes that are paused.
    pub paused: FxHashSet<Arc<str>>,
    /// Running bulk operations in their order.
    pub jobs: Vec<RunningBulkJob>,
}

/// Operations that are on their way to the disk, and count for the limits.
#[derive(Debug, Default)]
pub(super) struct UncommittedOperations {
    /// Bulk operations.
    jobs: usize,
    /// The number of pauses of each route.
    pauses: FxHashMap<Arc<str>, usize>,
}

impl UncommittedOperations {
    fn add(&mut self, op: &Op) {
        match op {
            Op::BeginBulk(_) => self.jobs += 1,
            Op::Pause(route) => *self.pauses.entry(route.clone()).or_default() += 1,
            _ => {}
        }
    }

    /// Removes an operation that is on disk.
    pub(super) fn remove(&mut self, op: &Op) {
        match op {
            Op::BeginBulk(_) => self.jobs -= 1,
            Op::Pause(route) => {
                if let Some(pauses) = self.pauses.get_mut(route) {
                    *pauses -= 1;
                    if *pauses == 0 {
                        self.pauses.remove(route);
                    }
                }
            }
            _ => {}
        }
    }
}

impl<S: Store> Scheduler<S> {
    /// Continues what operators requested before the start.
    #[must_use]
    pub fn with_operator_state(mut self, standing: OperatorState) -> Self {
        self.paused = standing.paused;
        for running in standing.jobs {
            self.bulk.push(running);
        }
        self
    }

    pub(crate) fn operate(&mut self, reply_to: RequestId, operated: OperatorRequest) {
        let OperatorRequest { request, actor } = operated;
        let at = self.now.wall_millis();
        let op = match request {
            AdminRequest::Kick { route, id } => Op::Kick { route, id, at },
            AdminRequest::Delete { route, id } => Op::Delete { route, id },
            AdminRequest::Pause { route } => {
                let is_paused =
                    self.is_paused(&route) || self.uncommitted.pauses.contains_key(&route);
                if !is_paused && self.paused_or_pausing() >= self.settings.sizes.paused_routes {
                    (self.settings.sizes.reached)(Size::PausedRoutes);
                    let most = self.settings.sizes.paused_routes;
                    let message = format!("{most} routes are paused: resume some");
                    return self.refuse(reply_to, Some(route), Code::TooManyRoutes, message);
                }
                Op::Pause(route)
            }
            AdminRequest::Resume { route } => Op::Resume(route),
            AdminRequest::Bulk(request) => {
                if self.bulk.len() + self.uncommitted.jobs >= JOBS {
                    let message = format!("{JOBS} jobs are not done: wait, or stop some");
                    return self.refuse(reply_to, Some(request.route), Code::Busy, message);
                }
                Op::BeginBulk(Box::new(self.bulk_of(*request, actor.clone())))
            }
            AdminRequest::Stop { job } => {
                return self.stop_bulk(job, actor, reply_to);
            }
        };
        self.uncommitted.add(&op);
        let audited = Box::new(AuditedOp { op, actor });
        self.submit(Op::Audited(audited), CommitToken::Reply(reply_to));
    }

    fn bulk_of(&self, request: BulkRequest, actor: Actor) -> NewBulkJob {
        let at = self.now.wall_millis();
        NewBulkJob {
            act: match request.act {
                BulkAct::Kick => JobAction::Kick,
                BulkAct::Delete => JobAction::Delete,
                BulkAct::Purge => JobAction::Purge,
            },
            route: request.route,
            // A task that dies again after it was kicked is not kicked again.
            filter: match request.act {
                BulkAct::Purge => Filter::default(),
                _ => Filter {
                    until: Some(request.filter.until.unwrap_or(u64::MAX).min(at + 1)),
                    ..request.filter
                },
            },
            in_flight: request.in_flight,
            at,
            actor,
        }
    }

    fn refuse(&mut self, to: RequestId, route: Option<Arc<str>>, code: Code, message: String) {
        let refusal = Refusal {
            route,
            ..Refusal::new(code, message)
        };
        self.reply(to, Reply::Error(refusal));
    }

    /// Logs an operation of an operator that has changed something.
    pub(super) fn log_audit(&self, audited: &AuditedOp, outcome: &Outcome) {
        let Some(AuditedChange {
            act,
            route,
            id,
            job,
        }) = AuditedChange::of(&audited.op, outcome)
        else {
            return;
        };
        let (by, address) = (audited.actor.by.as_deref(), audited.actor.address);
        let address = address.map(tracing::field::display);
        let bulk = match &audited.op {
            Op::BeginBulk(bulk) => Some(bulk),
            _ => None,
        };
        let filter = bulk.map(|bulk| &bulk.filter);
        tracing::info!(
            target: AUDIT_TARGET,
            act,
            route,
            id,
            job,
            reason = filter.and_then(|filter| filter.reason.as_deref()),
            from = filter.and_then(|filter| filter.from),
            until = filter.and_then(|filter| filter.until),
            in_flight = bulk.map(|bulk| bulk.in_flight),
            by,
            address,
            "audit: an operator's request"
        );
    }

    /// A bulk operation is on disk: it begins.
    pub(super) fn handle_bulk_begun(&mut self, bulk: NewBulkJob, id: u64, token: CommitToken) {
        let job = bulk.to_stored_job();
        self.bulk.push(RunningBulkJob::from_stored(id, &job));
        self.reply_to_token(token, || Reply::Job(Box::new(job.row(id))));
    }

    /// The number of routes that are paused, or will be when all that was asked for is on disk.
    fn paused_or_pausing(&self) -> usize {
        let uncommitted = self.uncommitted.pauses.keys();
        self.paused.len() + uncommitted.filter(|route| !self.is_paused(route)).count()
    }

    /// Whether a route is paused.
    pub(super) fn is_paused(&self, route: &str) -> bool {
        !self.paused.is_empty() && self.paused.contains(route)
    }

    /// A route is paused on disk: what waits in memory for a consumer to have room waits on disk.
    pub(super) fn route_paused(&mut self, name: Arc<str>) {
        if !self.paused.insert(name.clone()) {
            return;
        }
        let Some(route) = self.routes.get_mut(&name) else {
            return;
        };
        let ready = route.take_ready();
        for position in ready {
            let seq = position.seq;
            if self.tasks.get(seq).is_some_and(|task| task.is_parked) {
                self.tasks.remove(seq, &mut self.timers);
                if let Some(route) = self.routes.get_mut(&name) {
                    route.note_parked(position);
                }
            } else {
                self.park(seq);
            }
        }
    }

    /// A route is resumed. Its parked tasks come first.
    pub(super) fn route_resumed(&mut self, name: &Arc<str>) {
        if self.paused.remove(name) {
            self.refill(name);
            self.dispatch(name);
        }
    }
}
