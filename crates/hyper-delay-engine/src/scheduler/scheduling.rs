//! Handles the requests of consumers and producers.

use std::sync::Arc;

use super::{CommitToken, RequestId, RouteRequest, Scheduler, rate_limits::RateKey};
use crate::ledger::{Op, ScheduleOrder};
use hyper_delay_protocol::{
    Code, Due, Refusal, Reply, access::Grant, in_both_forms, trace_context,
};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    pub(super) fn handle_request(&mut self, to: RequestId, request: RouteRequest) {
        match request {
            RouteRequest::Register { route, mode } => self.register(to, &route, mode),
            RouteRequest::Unregister { route } => self.unregister(to, route),
            RouteRequest::Schedule {
                route,
                id,
                schedule,
                grant,
            } => {
                let (named, now) = (schedule.id.is_some(), self.now.wall_millis());
                let order = ScheduleOrder::of(schedule, (route, id), named, now);
                self.schedule(to, order, grant);
            }
            RouteRequest::Touch {
                delivery,
                extend_ms,
            } => self.touch(to, delivery, extend_ms),
            RouteRequest::Cancel { route, id } => self.cancel(to, route, id),
            RouteRequest::Move { route, id, to: due } => self.move_task(to, (route, id), due),
        }
    }

    pub(crate) fn cancel(&mut self, to: RequestId, route: Arc<str>, id: Arc<str>) {
        let was_due =
            self.takeover
                .was_due_before((&route, &id), &self.view, &self.settings, self.now);
        let token = if was_due {
            CommitToken::Cancel
        } else {
            CommitToken::Reply
        };
        self.submit(Op::Cancel { route, id }, token(to));
    }

    /// Schedules a task.
    pub(crate) fn schedule(
        &mut self,
        to: RequestId,
        order: ScheduleOrder,
        grant: Option<Arc<Grant>>,
    ) {
        let refusal = self.order_refusal(&order);
        let refusal = refusal.or_else(|| self.rate_refusal(&order, grant.as_deref()));
        if let Some(refusal) = refusal {
            return self.reply(to, Reply::Error(refusal));
        }
        let headers = order.headers.text();
        trace_context::log("schedule", &order.route, &order.id, headers);
        let most = self.settings.most_pending(&order.route, grant);
        let op = Op::Schedule(order);
        self.commits
            .submit_with_limits(op, CommitToken::Reply(to), most);
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
        let longest = self.settings.max_delay_millis;
        let due = order.delay_ms.map_or(Due::At(order.fire_at), Due::After);
        if let Err(message) = due.check(now, longest) {
            return Some(refusal_of(order, Code::BadField, message));
        }
        let expires_at = order.terms.as_ref().and_then(|terms| terms.expires_at);
        if let Some(at) = expires_at.filter(|at| *at <= now) {
            let message = format!(
                "expires_at is {}, which has passed: give a time after {}",
                in_both_forms(at),
                in_both_forms(now)
            );
            return Some(refusal_of(order, Code::BadField, message));
        }
        let delivery = order.longest_delivery();
        let most = self.settings.max_line_bytes;
        if !delivery.fits(most) {
            let longest = delivery.longest();
            let message = format!(
                "its delivery would be a line of {longest} bytes, and max_line_bytes is {most}: \
                 send {} payload bytes less, or a reference to them, or raise max_line_bytes",
                (longest - most).div_ceil(4) * 3
            );
            return Some(refusal_of(order, Code::TooLong, message));
        }
        None
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
