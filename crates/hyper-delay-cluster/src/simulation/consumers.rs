//! Consumers: what clients do with messages.

use std::sync::Arc;

use super::{
    FaultSet,
    client_requests::{answer_event, request_event},
    events::{ProcessId, SimulationEvent},
    links::SLOWEST,
    node::CREDIT,
    simulated_client::ClientDelivery,
    task_name::TaskName,
    world::{CLOCK_ERROR, MILLI, START, World},
};
use hyper_delay_engine::{front::ConsumerMessage, scheduler::ConsumerId};
use hyper_delay_protocol::{DeliverySelector, Reason, Reply, TaskRequest, own_route::OwnRoute};

/// The answer of a consumer to a delivery.
#[derive(Debug)]
pub(super) struct ConsumerAnswer {
    task: TaskName,
    attempt: u32,
    request: TaskRequest,
}

impl World {
    /// A message reaches a client.
    pub(super) fn received(
        &mut self,
        life: ProcessId,
        consumer: ConsumerId,
        message: ConsumerMessage,
    ) {
        let at = self.at;
        if self.operator_received(consumer, &message) {
            return;
        }
        let Some(client) = self.clients.of(consumer) else {
            return;
        };
        match message {
            ConsumerMessage::Reply { reply, tag, .. } => {
                let (task, ends) = match reply {
                    Reply::Scheduled { id, route, fire_at } => {
                        let scheduled = self.checks.scheduled(&TaskName { route, id }, fire_at);
                        return self.check(scheduled);
                    }
                    Reply::Acked { id, route, removed } => {
                        let of = tag.expect("an answer has the route of its delivery as its tag");
                        if route.is_some_and(|route| route != of) {
                            self.check(Err(format!("the ack of {id} has another route")));
                        }
                        let task = TaskName { route: of, id };
                        let acked = self.checks.acked(&task, removed);
                        self.check(acked);
                        (task, removed)
                    }
                    // A copy that is in flight can still arrive.
                    Reply::Cancelled {
                        id,
                        route,
                        found,
                        in_flight,
                    } => (TaskName { route, id }, found && !in_flight),
                    // It was a registration.
                    Reply::Error(refusal) if refusal.id.is_none() => {
                        if let Some(route) = refusal.route
                            && !self.adopt_again(consumer, &route)
                        {
                            self.register_again(client, consumer, &route, 0);
                        }
                        return;
                    }
                    Reply::Unregistered {
                        route,
                        reason: Reason::Replaced,
                    } => {
                        if OwnRoute::parse(&route).is_some() {
                            return;
                        }
                        let pause = self.random.u64(1..3_000) * MILLI;
                        self.register_again(client, consumer, &route, pause);
                        return;
                    }
                    Reply::Registered { credit, .. } => {
                        self.clients.clients[client].registered = Some((consumer, credit));
                        return;
                    }
                    _ => return,
                };
                let tracked = self.checks.tasks.get_mut(&task).expect("it was scheduled");
                if ends {
                    tracked.ended.get_or_insert(at);
                }
            }
            ConsumerMessage::Deliver {
                seq,
                route,
                id,
                attempt,
                until,
                accept,
                ..
            } => {
                let registered = self.clients.clients[client].registered;
                let registered = registered.filter(|(on, _)| *on == consumer);
                let accepted = self.clients.accept.filter(|_| registered.is_some());
                if accept != accepted.unwrap_or_default() {
                    self.check(Err(format!("{id} is delivered for a client of {accept:?}")));
                }
                let wall = START + at / MILLI + CLOCK_ERROR;
                let task = TaskName {
                    route: route.clone(),
                    id: id.clone(),
                };
                let sent = match self
                    .checks
                    .delivered((consumer, &task), (seq, attempt), wall)
                {
                    Ok(sent) => sent,
                    Err(broken) => return self.check(Err(broken)),
                };
                self.is_delivered_once(&id, seq, sent);
                let now = self.nodes[life.node].drift.now(at).monotonic.value();
                let asked = self.clients.clients[client].credit.unwrap_or(CREDIT);
                let credit = match registered {
                    Some((_, credit)) => credit,
                    // Its own route has the credit of before.
                    None => asked.max(CREDIT),
                };
                let in_flight = &mut self.clients.clients[client].in_flight;
                // The clock of the leader can be fast.
                in_flight.retain(|_, it| it.until > now + 1_000 * MILLI);
                let copy = ClientDelivery {
                    route: route.clone(),
                    seq,
                    attempt,
                    sent,
                    until: until.value(),
                };
                let before = in_flight.insert(id.clone(), copy);
                let in_flight = &self.clients.clients[client].in_flight;
                // A copy of a task that ended otherwise takes no credit, nor does one that a late nack of
                // an earlier copy has answered before it was written.
                let facts = &self.checks;
                let late_nacks = &self.clients.clients[client].late_nacks;
                let counted = in_flight.iter().filter(|(id, copy)| {
                    let (route, id) = (copy.route.clone(), Arc::clone(id));
                    let task = TaskName { route, id };
                    !facts.may_have_ended(&task) && !late_nacks.contains(&(task, copy.attempt))
                });
                let counted: Vec<_> = counted
                    .map(|(id, copy)| (Arc::clone(id), copy.sent))
                    .collect();
                let many = counted.len() > usize::from(credit);
                if before.is_some() {
                    self.check(Err(format!("{id} is delivered twice at a time")));
                }
                if many {
                    self.check(Err(format!(
                        "more than {credit} are in flight: {counted:?}"
                    )));
                }
                let named = DeliverySelector {
                    id,
                    route: Some(route).filter(|_| self.random.bool()),
                    attempt: Some(attempt).filter(|_| self.random.bool()),
                };
                self.work(life, (client, consumer), (task, attempt), named);
            }
            ConsumerMessage::Done(_) => {}
        }
    }

    /// Returns the least time to answer a delivery, in histories without faults. `None` if the copies
    /// of a hedged round overlap.
    pub(super) fn time_to_answer(&self) -> Option<u64> {
        if self.faults != FaultSet::Harmless || self.options.hedge.is_some() {
            return None;
        }
        // All clocks can be fast by 60,000 ppm. A serving node counts the time to answer from
        // before the delivery was sent.
        Some(self.options.ack_timeout * MILLI / 107 * 100 - 2 * SLOWEST)
    }

    /// Without faults, no client is sent what another one has and can still answer.
    fn is_delivered_once(&mut self, id: &Arc<str>, seq: u64, sent: u64) {
        let Some(time) = self.time_to_answer() else {
            return;
        };
        let clients = self.clients.clients.iter();
        let copies = clients.filter_map(|client| client.in_flight.get(id));
        // The later copy can come first.
        let is_early = |it: &&ClientDelivery| it.seq == seq && sent.abs_diff(it.sent) < time;
        if let Some(copy) = copies.filter(is_early).max_by_key(|it| it.sent) {
            let after = sent.abs_diff(copy.sent) / MILLI;
            self.check(Err(format!(
                "{id} is sent again {after} ms after it was sent"
            )));
        }
    }

    /// A consumer does the work of a delivery and answers.
    fn work(
        &mut self,
        life: ProcessId,
        (client, consumer): (usize, ConsumerId),
        (task, attempt): (TaskName, u32),
        delivery: DeliverySelector,
    ) {
        let is_lazy = !self.is_calm() && self.random.u8(0..100) < self.clients.lazy;
        let request = match (is_lazy, self.random.bool()) {
            (true, true) => return,
            (true, false) => TaskRequest::Nack {
                delivery,
                delay_ms: None,
                reason: None,
                failed: self.random.bool(),
            },
            (false, _) => TaskRequest::Ack {
                delivery,
                confirm: self.random.u8(0..4) > 0,
            },
        };
        let most = if self.random.bool() { 10 } else { 1_000 };
        let time = self.random.u64(MILLI..most * MILLI);
        if let TaskRequest::Ack { delivery, .. } = &request
            && self.random.u8(0..8) == 0
        {
            let touch = TaskRequest::Touch {
                delivery: delivery.clone(),
                extend_ms: self.random.bool().then(|| self.random.u64(1..4_000)),
            };
            let touched = SimulationEvent::Forwarder(life, request_event(consumer, touch));
            let pause = self.random.u64(0..time);
            self.after(pause, touched);
        }
        let answer = ConsumerAnswer {
            task,
            attempt,
            request,
        };
        self.after(
            time,
            SimulationEvent::Answers(life, client, consumer, answer),
        );
    }

    /// A consumer answers a delivery.
    pub(super) fn answer(
        &mut self,
        life: ProcessId,
        (client, consumer): (usize, ConsumerId),
        answer: ConsumerAnswer,
    ) {
        if self.clients.of(consumer) != Some(client) {
            return;
        }
        let ConsumerAnswer {
            task,
            attempt,
            mut request,
        } = answer;
        let now = self.nodes[life.node].drift.now(self.at).monotonic.value();
        let in_flight = &mut self.clients.clients[client].in_flight;
        let is_it = |copy: &ClientDelivery| copy.route == task.route && copy.attempt == attempt;
        let copy = in_flight.get(&task.id).filter(|copy| is_it(copy));
        // The clock of the leader can be fast.
        let is_in_time = copy.is_some_and(|copy| copy.until > now + 1_000 * MILLI);
        if copy.is_some() {
            in_flight.remove(&task.id);
        }
        if matches!(request, TaskRequest::Nack { .. }) && !is_in_time {
            let late_nacks = &mut self.clients.clients[client].late_nacks;
            late_nacks.insert((task.clone(), attempt));
        }
        match &mut request {
            TaskRequest::Ack { delivery, .. } | TaskRequest::Nack { delivery, .. }
                if !is_in_time =>
            {
                // Another copy of this id can be on its way, and would be meant without this.
                delivery.route = Some(task.route.clone());
                delivery.attempt = Some(attempt);
            }
            _ => {}
        }
        match request {
            TaskRequest::Ack { .. } => self.note_ending(&task),
            TaskRequest::Nack { failed, .. } => {
                self.checks.delivery_returned(consumer, &task, failed);
            }
            _ => {}
        }
        self.forwarder(life, Some(answer_event(consumer, &task.route, request)));
    }

    /// An ack or a cancel is sent.
    pub(super) fn note_ending(&mut self, task: &TaskName) {
        let tracked = self.checks.tasks.get_mut(task);
        tracked.expect("it was scheduled").endings += 1;
    }
}
