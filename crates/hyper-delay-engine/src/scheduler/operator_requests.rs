//! Handles the requests of operators: kick, delete, pause, resume and bulk operations.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{
    CommitToken, RequestId, Scheduler,
    bulk_queue::{MAX_JOBS, RunningBulkJob},
    paused_routes::PausedRoutes,
    task::TaskInMemory,
};
use crate::{
    ledger::{Actor, AuditedChange, AuditedOp, NewBulkJob, Op, Outcome},
    sizes::Size,
};
use hyper_delay_protocol::{
    AdminRequest, BulkAct, BulkMove, BulkRequest, Code, Filter, Refusal, Reply, TaskState,
};
use hyper_delay_store::Store;

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

impl<S: Store> Scheduler<S> {
    /// Continues what operators requested before the start.
    #[must_use]
    pub fn with_operator_state(mut self, standing: OperatorState) -> Self {
        self.paused = PausedRoutes::new(standing.paused);
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
                let most = self.settings.sizes.paused_routes;
                if !self.paused.may_pause(&route, most) {
                    (self.settings.sizes.reached)(Size::PausedRoutes);
                    let message = format!("{most} routes are paused: resume some");
                    return self.refuse(reply_to, route, Code::TooManyRoutes, message);
                }
                self.paused.begin_pause(route.clone());
                Op::Pause(route)
            }
            AdminRequest::Resume { route } => Op::Resume(route),
            AdminRequest::Bulk(request) => {
                let most = self.settings.max_delay_millis;
                if let Some(moved) = request.act.task_move()
                    && let Err(message) = moved.check(at, most)
                {
                    return self.refuse(reply_to, request.route, Code::BadField, message);
                }
                if !self.bulk.has_room() {
                    let message = format!("{MAX_JOBS} jobs are not done: wait, or stop some");
                    return self.refuse(reply_to, request.route, Code::Busy, message);
                }
                self.bulk.begin();
                Op::BeginBulk(Box::new(new_bulk(*request, at, actor.clone())))
            }
            AdminRequest::Stop { job } => {
                return self.stop_bulk(job, actor, reply_to);
            }
        };
        let audited = Box::new(AuditedOp { op, actor });
        self.submit(Op::Audited(audited), CommitToken::Reply(reply_to));
    }

    fn refuse(&mut self, to: RequestId, route: Arc<str>, code: Code, message: String) {
        let refusal = Refusal {
            route: Some(route),
            ..Refusal::new(code, message)
        };
        self.reply(to, Reply::Error(refusal));
    }

    /// An operation of an operator is on disk, or has changed nothing.
    pub(super) fn handle_operated(
        &mut self,
        audited: AuditedOp,
        outcome: Outcome,
        token: CommitToken,
    ) {
        log_audit(&audited, &outcome);
        match &audited.op {
            Op::BeginBulk(_) => self.bulk.end_begin(),
            Op::Pause(route) => self.paused.end_pause(route),
            _ => {}
        }
        match (audited.op, outcome) {
            (Op::Kick { route, id, at }, Outcome::Kicked(kicked)) => {
                let found = kicked.is_some();
                if let Some(kicked) = kicked {
                    let seq = kicked.seq;
                    self.add_task(
                        seq,
                        TaskInMemory::from_kicked(route.clone(), id.clone(), at, kicked),
                    );
                }
                self.reply_to_token(token, || Reply::Kicked { id, route, found });
            }
            (Op::Delete { route, id }, Outcome::Cancelled(seq)) => {
                if let Some(seq) = seq {
                    self.remove_task(seq);
                }
                let found = seq.is_some();
                self.reply_to_token(token, || Reply::Deleted { id, route, found });
            }
            (Op::Pause(route), Outcome::Applied(changed)) => {
                self.route_paused(route.clone());
                self.reply_to_token(token, || Reply::Paused { route, changed });
            }
            (Op::Resume(route), Outcome::Applied(changed)) => {
                let name = route.clone();
                self.reply_to_token(token, || Reply::Resumed { route, changed });
                self.route_resumed(&name);
            }
            (Op::BeginBulk(bulk), Outcome::BulkBegun(job)) => {
                self.handle_bulk_begun(*bulk, job, token);
            }
            _ => {}
        }
    }

    /// A route is paused on disk: what waits in memory for a consumer to have room waits on disk.
    fn route_paused(&mut self, name: Arc<str>) {
        if !self.paused.pause(name.clone()) {
            return;
        }
        let Some(route) = self.routes.get_mut(&name) else {
            return;
        };
        let ready = route.take_ready();
        for position in ready {
            let seq = position.seq;
            if self.tasks.remove_parked(seq, &mut self.timers) {
                if let Some(route) = self.routes.get_mut(&name) {
                    route.note_parked(position);
                }
            } else {
                self.park(seq);
            }
        }
    }

    /// A route is resumed. Its parked tasks come first.
    fn route_resumed(&mut self, name: &Arc<str>) {
        if self.paused.resume(name) {
            self.refill(name);
            self.dispatch(name);
        }
    }
}

/// Returns the bulk operation that a request asks for at a time in Unix milliseconds.
fn new_bulk(request: BulkRequest, at: u64, actor: Actor) -> NewBulkJob {
    NewBulkJob {
        act: request.act,
        route: request.route,
        // A task that dies again after it was kicked is not kicked again.
        filter: match request.act {
            BulkAct::Purge => Filter::default(),
            BulkAct::Move(_) => request.filter,
            BulkAct::Kick | BulkAct::Delete => Filter {
                until: Some(request.filter.until.unwrap_or(u64::MAX).min(at + 1)),
                ..request.filter
            },
        },
        in_flight: request.in_flight,
        at,
        actor,
    }
}

/// Logs an operation of an operator that has changed something.
fn log_audit(audited: &AuditedOp, outcome: &Outcome) {
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
    let moved = bulk.and_then(|bulk| bulk.act.task_move());
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
        task_state = moved.and_then(|moved| moved.state).map(TaskState::as_str),
        due = moved.and_then(BulkMove::due),
        shift_ms = moved.and_then(BulkMove::shift_ms),
        by,
        address,
        "audit: an operator's request"
    );
}
