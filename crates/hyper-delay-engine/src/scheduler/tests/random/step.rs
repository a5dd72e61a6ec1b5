//! The events of a random history, carried out.

use super::*;

/// Carries out an event.
pub(super) fn step(world: &mut World, client: &mut Client, event: &HistoryEvent) {
    client.number += 1;
    let number = client.number;
    match *event {
        HistoryEvent::Schedule {
            id,
            route,
            ahead,
            replace,
            delayed,
            ref terms,
        } => {
            let (at, due) = due(world, ahead, delayed);
            let (route, id) = (ROUTES[route], id.to_string());
            let known = client.known(route, &id);
            known.earliest = Some(known.earliest.map_or(at, |earliest| earliest.min(at)));
            known.pending.push_back((number, replace));
            // What replaces is new content, and the rest may be the same again.
            let payload = if replace { number } else { 0 };
            // Of a delay, it can be too early.
            let from = if delayed { world.now.wall_millis() } else { at };
            let expires_at = terms.expires.map(|after| from + after);
            known.may_expire |= expires_at.is_some();
            let terms = Terms {
                expires_at,
                ..terms.terms
            };
            let terms = Some(terms).filter(|terms| *terms != Terms::default());
            world.schedule_due((route, &id), due, payload, replace, terms);
        }
        HistoryEvent::ScheduleWithoutRoute {
            consumer,
            id,
            ahead,
            replace,
            delayed,
        } => {
            if let Some(consumer) = client.consumers.get(consumer) {
                let (at, due) = due(world, ahead, delayed);
                let payload = if replace { number } else { 0 };
                let content = (due, payload, replace);
                let route = world.schedule_without_route(*consumer, &id.to_string(), content);
                if let Some(route) = route {
                    let known = client.known(&route, &id.to_string());
                    known.earliest = Some(known.earliest.map_or(at, |earliest| earliest.min(at)));
                    known.pending.push_back((number, replace));
                }
            }
        }
        HistoryEvent::Commit => world.step(Step::Commit),
        HistoryEvent::Tell => world.step(Step::Tell),
        HistoryEvent::Tick => world.step(Step::Tick),
        HistoryEvent::Pass(millis) => world.pass(millis),
        HistoryEvent::Connect => client.consumers.push(world.connect(&[])),
        HistoryEvent::Closing(consumer) => {
            if let Some(consumer) = client.consumers.get(consumer) {
                world.input(FrontInput::Closing(*consumer));
            }
        }
        HistoryEvent::Block(consumer) => {
            if let Some(consumer) = client.consumers.get(consumer) {
                world.sockets.block(*consumer);
            }
        }
        HistoryEvent::Unblock(consumer) => {
            if let Some(consumer) = client.consumers.get(consumer) {
                world.unblock(*consumer);
            }
        }
        HistoryEvent::DropLate(consumer) => {
            if let Some(consumer) = client.consumers.get(consumer) {
                world.drop_late(*consumer);
            }
        }
        HistoryEvent::Disconnect(consumer) => {
            if consumer < client.consumers.len() {
                let consumer = client.consumers.remove(consumer);
                world.close(consumer);
            }
        }
        HistoryEvent::Register {
            consumer,
            route,
            credit,
            exclusive,
        } => {
            if let Some((consumer, route)) = registrable(world, client, consumer, route) {
                let mode = match exclusive {
                    true => RegisterMode::Exclusive,
                    false => RegisterMode::Shared,
                };
                let request = TaskRequest::Register {
                    route,
                    credit,
                    mode,
                    accept: None,
                };
                world.ask(consumer, request);
            }
        }
        HistoryEvent::Unregister(consumer, route) => {
            if let Some((consumer, route)) = registrable(world, client, consumer, route) {
                world.ask(consumer, TaskRequest::Unregister { route });
            }
        }
        HistoryEvent::Ack(back) | HistoryEvent::AckOfTheFirst(back) => {
            if let Some(mut delivered) = nth_latest(world, back) {
                if matches!(event, HistoryEvent::AckOfTheFirst(_)) {
                    delivered.attempt = 1;
                }
                client.known(&delivered.route, &delivered.id).removed = Some(number);
                world.ack_delivery(&delivered);
            }
        }
        HistoryEvent::Nack(back, delay, failed) => {
            if let Some(delivered) = nth_latest(world, back) {
                match failed {
                    true => world.nack_delivery(&delivered, delay),
                    false => world.give_back(&delivered, delay),
                }
            }
        }
        HistoryEvent::Touch(back, extend_ms) => {
            if let Some(delivered) = nth_latest(world, back) {
                world.touch(&delivered, extend_ms);
            }
        }
        HistoryEvent::Cancel(id, route) => {
            let id = id.to_string();
            client.known(ROUTES[route], &id).removed = Some(number);
            world.cancel(ROUTES[route], &id);
        }
        HistoryEvent::Move { id, route, ahead } => {
            let (route, id, now) = (ROUTES[route], id.to_string(), world.now.wall_millis());
            let to = ahead.map_or(MoveTo::Now, |ahead| MoveTo::At(now + ahead));
            let at = now + ahead.unwrap_or(0);
            let known = client.known(route, &id);
            known.earliest = known.earliest.map(|earliest| earliest.min(at));
            known.moving += 1;
            known.moved = None;
            world.move_task(route, &id, to);
        }
        HistoryEvent::Kick(id, route) => {
            let (route, id) = (ROUTES[route].into(), id.to_string().into());
            world.operate(AdminRequest::Kick { route, id });
        }
        HistoryEvent::Delete(id, route) => {
            let id = id.to_string();
            client.known(ROUTES[route], &id).removed = Some(number);
            let (route, id) = (ROUTES[route].into(), id.into());
            world.operate(AdminRequest::Delete { route, id });
        }
        HistoryEvent::Pause(route) => {
            let route = ROUTES[route].into();
            world.operate(AdminRequest::Pause { route });
        }
        HistoryEvent::Resume(route) => {
            let route = ROUTES[route].into();
            world.operate(AdminRequest::Resume { route });
        }
        HistoryEvent::Bulk(act, route) => {
            if let BulkAct::Move(moves) = act {
                return bulk_move(world, client, moves, ROUTES[route]);
            }
            if act != BulkAct::Kick {
                for id in 0..8u8 {
                    client.known(ROUTES[route], &id.to_string()).removed = Some(number);
                }
            }
            world.bulk(act, ROUTES[route], Filter::default());
        }
        HistoryEvent::Damage(back) => {
            if let Some(delivered) = nth_latest(world, back) {
                world.unreadable.insert(delivered.seq);
            }
        }
        HistoryEvent::Restart => {
            world.restart();
            client.consumers.clear();
            for known in client.known.values_mut() {
                known.pending.clear();
                known.moving = 0;
            }
        }
        HistoryEvent::SetClock(by) => world.set_clock(by),
    }
}

/// Returns when a task is due that a client schedules now.
fn due(world: &World, ahead: u64, delayed: bool) -> (u64, Due) {
    let at = world.now.wall_millis() + ahead;
    (
        at,
        if delayed {
            Due::After(ahead)
        } else {
            Due::At(at)
        },
    )
}

/// Moves many tasks. `moves` has times from now on.
fn bulk_move(world: &mut World, client: &mut Client, moves: BulkMove, route: &'static str) {
    let now = world.now.wall_millis();
    let to = match moves.to {
        BulkMoveTo::At(ahead) => BulkMoveTo::At(now + ahead),
        to => to,
    };
    let earliest = match to {
        BulkMoveTo::Now => Some(now),
        BulkMoveTo::At(at) => Some(at),
        BulkMoveTo::Later(_) => None,
    };
    client.moving.insert(route.into());
    for id in 0..8u8 {
        let known = client.known(route, &id.to_string());
        let both = known.earliest.zip(earliest);
        known.earliest = both.map(|(known, at)| known.min(at)).or(known.earliest);
        known.moved = None;
    }
    let act = BulkAct::Move(BulkMove { to, ..moves });
    world.bulk(act, route, Filter::default());
}

/// Returns a connection and a route; beyond the last one, its own, if it has one.
fn registrable(
    world: &World,
    client: &Client,
    consumer: usize,
    route: usize,
) -> Option<(ConsumerId, Arc<str>)> {
    let consumer = *client.consumers.get(consumer)?;
    let own = || world.server.front().own_route(consumer).cloned();
    let route = match ROUTES.get(route) {
        Some(route) => Some((*route).into()),
        None => own(),
    };
    Some((consumer, route?))
}
