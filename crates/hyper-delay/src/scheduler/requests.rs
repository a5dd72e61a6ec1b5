//! What connections ask for.

use std::{mem, sync::Arc};

use super::{
    Ask, ConsumerId, Message, Scheduler, Settings, Token, consumer::Consumer, live::State,
    route::Route,
};
use crate::{
    ledger::{Op, Order},
    protocol::{Code, Delivery, Mode, Reason, Refusal, Reply, Request, Schedule},
    store::Store,
};

impl<S: Store> Scheduler<S> {
    pub(super) fn opened(&mut self, consumer: ConsumerId) {
        self.consumers
            .insert(consumer, Consumer::new(self.settings.credit));
    }

    pub(super) fn closed(&mut self, consumer: ConsumerId) {
        let Some(mut gone) = self.consumers.remove(&consumer) else {
            return;
        };
        if self.ending {
            // What it has in flight did not fail: it is on disk, and the next start delivers it.
            return;
        }
        self.depart(consumer, mem::take(&mut gone.routes));
        for (_, copy) in gone.into_copies() {
            if let Some(timer) = copy.timer {
                self.wheel.cancel(timer);
            }
            self.copy_failed(copy.seq, consumer, None);
        }
    }

    /// Returns whether a connection has no route and no delivery in flight.
    pub(crate) fn is_idle(&self, consumer: ConsumerId) -> bool {
        let state = self.consumers.get(&consumer);
        state.is_none_or(Consumer::is_idle)
    }

    pub(super) fn asked(&mut self, consumer: ConsumerId, ask: Ask) {
        let Ask { line, weight } = ask;
        let tag = line.tag;
        let token = |tag| Token::Reply {
            consumer,
            tag,
            weight,
        };
        match line.request {
            Request::Register {
                route,
                credit,
                mode,
            } => self.register(consumer, route, credit, mode, tag, weight),
            Request::Unregister { route } => {
                if let Some(state) = self.consumers.get_mut(&consumer)
                    && state.routes.remove(&route)
                {
                    self.leave(consumer, &route);
                }
                let reply = Reply::Unregistered {
                    route,
                    reason: Reason::Asked,
                };
                self.reply(consumer, reply, tag, weight);
            }
            Request::Schedule(schedule) => self.schedule(consumer, schedule, tag, weight),
            Request::Ack { delivery, confirm } => {
                if confirm {
                    self.acked(consumer, delivery, Some(token(tag)));
                } else {
                    self.acked(consumer, delivery, None);
                    self.quiet(consumer, weight);
                }
            }
            Request::Nack { delivery, delay_ms } => {
                let most = self.settings.max_delay_millis;
                match delay_ms {
                    Some(delay) if delay > most => {
                        let refusal = Refusal {
                            id: Some(delivery.id),
                            route: delivery.route,
                            ..Refusal::new(
                                Code::BadField,
                                format!(
                                    "delay_ms is {delay}: give at most {most}, which is max_delay_days"
                                ),
                            )
                        };
                        self.reply(consumer, Reply::Error(refusal), tag, weight);
                    }
                    _ => {
                        self.nacked(consumer, delivery, delay_ms);
                        self.quiet(consumer, weight);
                    }
                }
            }
            Request::Cancel { route, id } => self.submit(Op::Cancel { route, id }, token(tag)),
            Request::Kick { route, id } => {
                let at = self.now.wall_millis();
                self.submit(Op::Kick { route, id, at }, token(tag));
            }
            Request::Ping => self.reply(consumer, Reply::Pong, tag, weight),
            Request::Stats { .. } | Request::Dead { .. } => {
                debug_assert!(false, "the connection reads these from the disk itself");
                self.quiet(consumer, weight);
            }
        }
    }

    fn quiet(&mut self, consumer: ConsumerId, weight: u32) {
        let message = Message::Quiet(weight);
        self.effects.messages.push((consumer, message));
    }

    fn register(
        &mut self,
        consumer: ConsumerId,
        route: Arc<str>,
        credit: Option<u16>,
        mode: Mode,
        tag: Option<Arc<str>>,
        weight: u32,
    ) {
        if let Some(refusal) = self.refuse_route(consumer, &route) {
            return self.reply(consumer, Reply::Error(refusal), tag, weight);
        }
        let Some(state) = self.consumers.get_mut(&consumer) else {
            return;
        };
        if let Some(credit) = credit {
            state.credit = credit;
        }
        let reply = Reply::Registered {
            route: route.clone(),
            credit: state.credit,
        };
        self.reply(consumer, reply, tag, weight);
        self.bind(consumer, &route, mode);
        self.refill(&route);
        self.dispatch(&route);
        if credit.is_some() {
            self.dispatch_for(consumer);
        }
    }

    /// Refuses one more route for a connection that may have no more.
    fn refuse_route(&self, consumer: ConsumerId, route: &Arc<str>) -> Option<Refusal> {
        let routes = &self.consumers.get(&consumer)?.routes;
        if routes.contains(route) {
            return None;
        }
        let Settings {
            max_routes_per_connection,
            max_routes,
            ..
        } = self.settings;
        let message = if routes.len() >= max_routes_per_connection {
            format!(
                "this connection has {} routes, and max_routes_per_connection is \
                 {max_routes_per_connection}: unregister some, or raise it",
                routes.len()
            )
        } else if self.registrations >= max_routes {
            format!(
                "all connections have {} routes, and max_routes is {max_routes}: unregister some, \
                 or raise it",
                self.registrations
            )
        } else {
            return None;
        };
        Some(Refusal {
            route: Some(route.clone()),
            ..Refusal::new(Code::TooManyRoutes, message)
        })
    }

    /// Makes a connection a consumer of a route; whoever cannot share it loses it.
    fn bind(&mut self, consumer: ConsumerId, name: &Arc<str>, mode: Mode) {
        let Some(state) = self.consumers.get_mut(&consumer) else {
            return;
        };
        let hedge = self.settings.config.hedge_of(name);
        let route = self
            .routes
            .entry(name.clone())
            .or_insert_with(|| Route::new(hedge));
        let exclusive = mode == Mode::Exclusive;
        let losers: Vec<ConsumerId> = if exclusive || route.exclusive {
            route
                .consumers
                .extract_if(.., |other| *other != consumer)
                .collect()
        } else {
            Vec::new()
        };
        route.exclusive = exclusive;
        if !route.consumers.contains(&consumer) {
            route.consumers.push(consumer);
            state.routes.insert(name.clone());
            self.registrations += 1;
        }
        self.registrations -= losers.len();
        for loser in losers {
            if let Some(state) = self.consumers.get_mut(&loser) {
                state.routes.remove(name);
            }
            let reply = Reply::Unregistered {
                route: name.clone(),
                reason: Reason::Replaced,
            };
            self.reply(loser, reply, None, 0);
        }
    }

    /// Takes a connection from the consumers of a route. With the last, the route goes: what waited in memory for
    /// one to have room waits on disk.
    pub(super) fn leave(&mut self, consumer: ConsumerId, name: &Arc<str>) {
        let Some(route) = self.routes.get_mut(name) else {
            return;
        };
        let Some(place) = route.consumers.iter().position(|other| *other == consumer) else {
            return;
        };
        route.consumers.remove(place);
        self.registrations -= 1;
        if !route.consumers.is_empty() {
            return;
        }
        let Some(route) = self.routes.remove(name) else {
            return;
        };
        for (_, seq) in route.ready {
            match self.tasks.get(&seq) {
                Some(task) if task.parked => {
                    self.tasks.remove(&seq);
                }
                Some(task) => {
                    debug_assert!(matches!(task.state, State::Ready), "it was ready");
                    self.park(seq);
                }
                None => {}
            }
        }
    }

    fn schedule(
        &mut self,
        consumer: ConsumerId,
        schedule: Schedule,
        tag: Option<Arc<str>>,
        weight: u32,
    ) {
        let (route, is_own) = match schedule.route {
            Some(route) => (route, false),
            None => match self.route_of(consumer) {
                Some(route) => route,
                None => return,
            },
        };
        let named = schedule.id.is_some();
        let id = schedule
            .id
            .unwrap_or_else(|| uuid::Uuid::now_v7().to_string().into());
        let now = self.now.wall_millis();
        let order = Order {
            route,
            id,
            named,
            at: schedule.fire_at.max(now),
            fire_at: schedule.fire_at,
            compression: schedule.compression,
            payload: schedule.payload,
            replace: schedule.replace,
        };
        let refusal = self.refuse(&order).or_else(|| {
            let refusal = self.refuse_route(consumer, &order.route);
            refusal.filter(|_| is_own).map(|refusal| Refusal {
                id: Some(order.id.clone()),
                ..refusal
            })
        });
        match refusal {
            Some(refusal) => self.reply(consumer, Reply::Error(refusal), tag, weight),
            None => {
                if is_own {
                    self.bind(consumer, &order.route, Mode::Shared);
                    self.refill(&order.route);
                }
                let token = Token::Reply {
                    consumer,
                    tag,
                    weight,
                };
                self.submit(Op::Schedule(order), token);
            }
        }
    }

    fn refuse(&self, order: &Order) -> Option<Refusal> {
        let refusal = |code, message| Refusal {
            id: Some(order.id.clone()),
            route: Some(order.route.clone()),
            ..Refusal::new(code, message)
        };
        let latest = self
            .now
            .wall_millis()
            .saturating_add(self.settings.max_delay_millis);
        if order.fire_at > latest {
            let message = format!(
                "fire_at is {}, more than max_delay_days ahead: give at most {latest}",
                order.fire_at
            );
            return Some(refusal(Code::BadField, message));
        }
        let longest = Delivery {
            id: &order.id,
            route: &order.route,
            fire_at: order.fire_at,
            compression: order.compression,
            payload: &order.payload,
            attempt: u32::MAX,
        }
        .longest();
        let most = self.settings.max_line_bytes;
        if longest > most {
            let message = format!(
                "its delivery would be a line of {longest} bytes, and max_line_bytes is {most}: send {} payload bytes less, or a reference to them",
                (longest - most).div_ceil(4) * 3
            );
            return Some(refusal(Code::TooLong, message));
        }
        None
    }

    /// The route of a connection that names none: the one it has registered, or else one of its own, which it has to
    /// register. Tells which.
    fn route_of(&mut self, consumer: ConsumerId) -> Option<(Arc<str>, bool)> {
        let state = self.consumers.get_mut(&consumer)?;
        if state.routes.len() == 1
            && let Some(route) = state.routes.first()
        {
            return Some((route.clone(), false));
        }
        let own = state
            .own_route
            .get_or_insert_with(|| format!("conn-{}", uuid::Uuid::now_v7().simple()).into());
        Some((own.clone(), true))
    }
}
