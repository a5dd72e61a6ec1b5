//! What operators ask for.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{ReplyTo, Scheduler, Token, bulk::Running};
use crate::{
    ledger::{Actor, Audited, Bulk, Changed, Op, Outcome},
    sizes::Size,
};
use hyper_delay_protocol::{BulkAct, BulkRequest, Code, Filter, Refusal, Reply, Request};
use hyper_delay_store::{Store, record::Act};

/// The most bulk operations that are not done.
const JOBS: usize = 16;

/// The target of the lines of the audit in the log. No filter of the command leaves them out.
pub const AUDIT: &str = "hyper_delay::audit";

/// A request of an operator.
#[derive(Debug)]
pub struct Operated {
    /// The request.
    pub request: Request,
    /// Who sent it.
    pub actor: Actor,
    /// Where the reply goes.
    pub reply_to: ReplyTo,
}

/// The stored requests of operators that are in force at the start.
#[derive(Debug, Default)]
pub struct Standing {
    /// Routes that are paused.
    pub paused: FxHashSet<Arc<str>>,
    /// Running bulk operations in their order.
    pub jobs: Vec<Running>,
}

/// Operations that are on their way to the disk, and count for the limits.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    /// Bulk operations.
    jobs: usize,
    /// The number of pauses of each route.
    pauses: FxHashMap<Arc<str>, usize>,
}

impl Unwritten {
    fn add(&mut self, op: &Op) {
        match op {
            Op::Begin(_) => self.jobs += 1,
            Op::Pause(route) => *self.pauses.entry(route.clone()).or_default() += 1,
            _ => {}
        }
    }

    /// Removes an operation that is on disk.
    pub(super) fn remove(&mut self, op: &Op) {
        match op {
            Op::Begin(_) => self.jobs -= 1,
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
    pub fn with_standing(mut self, standing: Standing) -> Self {
        self.paused = standing.paused;
        for running in standing.jobs {
            self.bulk.push(running);
        }
        self
    }

    pub(super) fn operated(&mut self, operated: Operated) {
        let Operated {
            request,
            actor,
            reply_to,
        } = operated;
        let at = self.now.wall_millis();
        let op = match request {
            Request::Kick { route, id } => Op::Kick { route, id, at },
            Request::Delete { route, id } => Op::Delete { route, id },
            Request::Pause { route } => {
                let is_paused =
                    self.is_paused(&route) || self.unwritten.pauses.contains_key(&route);
                if !is_paused && self.pauses() >= self.settings.sizes.paused_routes {
                    (self.settings.sizes.reached)(Size::PausedRoutes);
                    let most = self.settings.sizes.paused_routes;
                    let message = format!("{most} routes are paused: resume some");
                    return self.refuse(reply_to, Some(route), Code::TooManyRoutes, message);
                }
                Op::Pause(route)
            }
            Request::Resume { route } => Op::Resume(route),
            Request::Bulk(asked) => {
                if self.bulk.len() + self.unwritten.jobs >= JOBS {
                    let message = format!("{JOBS} jobs are not done: wait, or stop some");
                    return self.refuse(reply_to, Some(asked.route), Code::Busy, message);
                }
                Op::Begin(Box::new(self.bulk_of(*asked, actor.clone())))
            }
            Request::Stop { job } => {
                return self.stop_bulk(job, actor, reply_to);
            }
            _ => {
                debug_assert!(false, "no request of an operator");
                return;
            }
        };
        self.unwritten.add(&op);
        let audited = Box::new(Audited { op, actor });
        self.submit(Op::Audited(audited), Token::Reply(reply_to));
    }

    fn bulk_of(&self, asked: BulkRequest, actor: Actor) -> Bulk {
        let at = self.now.wall_millis();
        Bulk {
            act: match asked.act {
                BulkAct::Kick => Act::Kick,
                BulkAct::Delete => Act::Delete,
                BulkAct::Purge => Act::Purge,
            },
            route: asked.route,
            // A task that dies again after it was kicked is not kicked again.
            filter: match asked.act {
                BulkAct::Purge => Filter::default(),
                _ => Filter {
                    until: Some(asked.filter.until.unwrap_or(u64::MAX).min(at + 1)),
                    ..asked.filter
                },
            },
            in_flight: asked.in_flight,
            at,
            actor,
        }
    }

    fn refuse(&mut self, to: ReplyTo, route: Option<Arc<str>>, code: Code, message: String) {
        let refusal = Refusal {
            route,
            ..Refusal::new(code, message)
        };
        self.reply(to, Reply::Error(refusal));
    }

    /// Logs an operation of an operator that has changed something.
    pub(super) fn log_audit(&self, audited: &Audited, outcome: &Outcome) {
        let Some(Changed {
            act,
            route,
            id,
            job,
        }) = Changed::by(&audited.op, outcome)
        else {
            return;
        };
        let (by, address) = (audited.actor.by.as_deref(), audited.actor.address);
        let address = address.map(tracing::field::display);
        let bulk = match &audited.op {
            Op::Begin(bulk) => Some(bulk),
            _ => None,
        };
        let filter = bulk.map(|bulk| &bulk.filter);
        tracing::info!(
            target: AUDIT,
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
    pub(super) fn began(&mut self, bulk: Bulk, id: u64, token: Token) {
        let job = bulk.stored();
        self.bulk.push(Running::stored(id, &job));
        self.answer(token, || Reply::Job(Box::new(job.row(id))));
    }

    /// The number of routes that are paused, or will be when all that was asked for is on disk.
    fn pauses(&self) -> usize {
        let unwritten = self.unwritten.pauses.keys();
        self.paused.len() + unwritten.filter(|route| !self.is_paused(route)).count()
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
                    route.parked(position);
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
