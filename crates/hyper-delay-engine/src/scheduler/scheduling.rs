//! Handles the requests of connections.

use std::sync::Arc;

use super::{
    ClientRequest, CommitToken, ConsumerId, ConsumerMessage, ReplyTo, Scheduler,
    rate_limits::RateKey,
    round::{CopyEnd, CopyEndKind},
};
use crate::ledger::{Op, ScheduleOrder};
use hyper_delay_protocol::{
    Code, DeliverySelector, Refusal, RegisterMode, Reply, Schedule, TaskRequest,
    access::{Denial, Grant, Right},
    trace_context,
};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    pub(super) fn handle_request(&mut self, consumer: ConsumerId, request: ClientRequest) {
        let ClientRequest {
            tag,
            request,
            weight,
            grant,
        } = request;
        let to = ReplyTo {
            consumer,
            tag,
            weight,
        };
        match request {
            TaskRequest::Register {
                route,
                credit,
                mode,
                accept,
            } => self.register(to, &route, (credit, accept), mode),
            TaskRequest::Unregister { route } => self.unregister(to, route),
            TaskRequest::Schedule(schedule) => self.schedule(to, schedule, grant),
            TaskRequest::Ack {
                delivery,
                confirm: true,
            } => self.handle_ack(consumer, delivery, Some(to)),
            TaskRequest::Ack { delivery, .. } => {
                self.handle_ack(consumer, delivery, None);
                self.send_done(&to);
            }
            TaskRequest::Nack {
                delivery,
                delay_ms,
                reason,
                failed,
            } => {
                let copy_end = CopyEnd {
                    delay_ms,
                    reason,
                    kind: CopyEndKind::of_nack(failed),
                };
                self.nack_within_limit(to, delivery, copy_end);
            }
            TaskRequest::Touch {
                delivery,
                extend_ms,
            } => self.handle_touch(to, delivery, extend_ms),
            TaskRequest::Cancel { route, id } => {
                let was_due = self.was_due_before_takeover(&route, &id);
                let token = if was_due {
                    CommitToken::Cancel
                } else {
                    CommitToken::Reply
                };
                self.submit(Op::Cancel { route, id }, token(to));
            }
            TaskRequest::Ping => self.reply(to, Reply::Pong),
        }
    }

    /// A request without a reply is done.
    fn send_done(&mut self, to: &ReplyTo) {
        let message = ConsumerMessage::Done(to.weight);
        self.messages.push((to.consumer, message));
    }

    fn nack_within_limit(&mut self, to: ReplyTo, delivery: DeliverySelector, copy_end: CopyEnd) {
        let most = self.settings.max_delay_millis;
        let Some(delay) = copy_end.delay_ms.filter(|delay| *delay > most) else {
            self.handle_nack(to.consumer, &delivery, copy_end);
            return self.send_done(&to);
        };
        let message = format!("delay_ms is {delay}: give at most {most}, which is max_delay_days");
        let refusal = Refusal {
            id: Some(delivery.id),
            route: delivery.route,
            ..Refusal::new(Code::BadField, message)
        };
        self.reply(to, Reply::Error(refusal));
    }

    fn schedule(&mut self, to: ReplyTo, mut schedule: Schedule, grant: Option<Arc<Grant>>) {
        let consumer = to.consumer;
        let (route, is_own) = match schedule.route.take() {
            Some(route) => (route, false),
            None => match self.default_route(consumer) {
                Some(route) => route,
                None => return,
            },
        };
        // The only registered route can be one of another token of the connection.
        if let Some(grant) = grant.as_ref().filter(|_| !is_own)
            && !grant.allows(Right::Schedule, &route)
        {
            let refusal = Refusal {
                id: schedule.id,
                ..Refusal::new(
                    Code::Forbidden,
                    Denial::Missing(Right::Schedule).to_string(),
                )
            };
            return self.reply(to, Reply::Error(refusal));
        }
        let new_id = || uuid::Uuid::now_v7().to_string().into();
        let id = schedule.id.clone().unwrap_or_else(new_id);
        let order = ScheduleOrder::of(schedule, (route, id), self.now.wall_millis());
        let route = is_own.then_some(&order.route);
        let no_route = || {
            let refusal = self.route_refusal(consumer, route?)?;
            let id = Some(order.id.clone());
            Some(Refusal { id, ..refusal })
        };
        let refusal = self.order_refusal(&order).or_else(no_route);
        let refusal = refusal.or_else(|| self.rate_refusal(&order, grant.as_deref()));
        if let Some(refusal) = refusal {
            return self.reply(to, Reply::Error(refusal));
        }
        let token = match is_own {
            true => CommitToken::ScheduledOnOwn(to),
            false => CommitToken::Reply(to),
        };
        if is_own {
            if let Some(state) = self.consumers.get_mut(consumer) {
                state.own.begin_schedule();
            }
            self.register_consumer(consumer, &order.route, RegisterMode::Shared);
            self.refill(&order.route);
        }
        let headers = order.headers.text();
        trace_context::log("schedule", &order.route, &order.id, headers);
        let most = self.settings.most_pending(&order.route, grant);
        let op = Op::Schedule(order);
        self.commits.submit_with_limits(op, token, most);
    }

    /// Refuses a schedule of a route or a token that has had as many in the last second as it may.
    fn rate_refusal(&mut self, order: &ScheduleOrder, grant: Option<&Grant>) -> Option<Refusal> {
        let refusal = |message| refusal_of(order, Code::Quota, message);
        let now = self.now.monotonic;
        if let Some(grant) = grant
            && let Some(most) = grant.schedules_per_second
            && !self
                .rate_limits
                .try_take(RateKey::OfToken(grant.id.as_str().into()), most, now)
        {
            return Some(refusal(format!(
                "the token {:?} may schedule {most} tasks per second: send it again later",
                grant.name
            )));
        }
        let (key, most) = self
            .settings
            .quota_of(&order.route, |quota| quota.schedules_per_second)?;
        let rate = RateKey::Schedules(order.route.clone());
        if self.rate_limits.try_take(rate, most, now) {
            return None;
        }
        Some(refusal(format!(
            "schedules_per_second of route {:?} is {most} (quotas, key {key:?}): send it again later",
            order.route
        )))
    }

    fn order_refusal(&self, order: &ScheduleOrder) -> Option<Refusal> {
        let now = self.now.wall_millis();
        let latest = now.saturating_add(self.settings.max_delay_millis);
        if order.fire_at > latest {
            let message = format!(
                "fire_at is {}, more than max_delay_days ahead: give at most {latest}",
                order.fire_at
            );
            return Some(refusal_of(order, Code::BadField, message));
        }
        let expires_at = order.terms.as_ref().and_then(|terms| terms.expires_at);
        if let Some(at) = expires_at.filter(|at| *at <= now) {
            let message = format!("expires_at is {at}, which has passed: give a time after {now}");
            return Some(refusal_of(order, Code::BadField, message));
        }
        let delivery = order.longest_delivery();
        let most = self.settings.max_line_bytes;
        if !delivery.fits(most) {
            let longest = delivery.longest();
            let message = format!(
                "its delivery would be a line of {longest} bytes, and max_line_bytes is {most}: \
                 send {} payload bytes less, or a reference to them",
                (longest - most).div_ceil(4) * 3
            );
            return Some(refusal_of(order, Code::TooLong, message));
        }
        None
    }

    /// Returns the route of a schedule without one: the only one that the connection has
    /// registered, or the connection's own route. The flag is true for its own route, which the
    /// caller must register.
    fn default_route(&mut self, consumer: ConsumerId) -> Option<(Arc<str>, bool)> {
        let state = self.consumers.get_mut(consumer)?;
        if let Some(route) = state.only_route() {
            return Some((route.clone(), state.own.is_named(route)));
        }
        Some((state.own.name_or_new(), true))
    }
}

/// Returns a refusal that names the task of a schedule.
pub(super) fn refusal_of(order: &ScheduleOrder, code: Code, message: String) -> Refusal {
    Refusal {
        id: Some(order.id.clone()),
        route: Some(order.route.clone()),
        ..Refusal::new(code, message)
    }
}
