//! The events of a random history.

use proptest::prelude::*;

use super::ROUTES;
use hyper_delay_protocol::{BulkAct, BulkMove, BulkMoveTo, TaskState, Terms};

#[derive(Debug, Clone)]
pub(super) enum HistoryEvent {
    /// One of eight ids on a route, `ahead` milliseconds from now.
    Schedule {
        id: u8,
        route: usize,
        ahead: u64,
        replace: bool,
        /// Whether the schedule has a delay and no time.
        delayed: bool,
        terms: Box<TermsAhead>,
    },
    /// A connection schedules one of two ids without a route: on the only one that it has, or its own.
    ScheduleWithoutRoute {
        consumer: usize,
        id: u8,
        ahead: u64,
        replace: bool,
        delayed: bool,
    },
    Commit,
    Tell,
    Tick,
    Pass(u64),
    Connect,
    /// A connection is about to close.
    Closing(usize),
    /// A connection takes no bytes.
    Block(usize),
    /// It takes bytes again.
    Unblock(usize),
    /// It drops the copies that are too late.
    DropLate(usize),
    Disconnect(usize),
    /// Beyond the last route, the connection's own.
    Register {
        consumer: usize,
        route: usize,
        credit: Option<u16>,
        exclusive: bool,
    },
    Unregister(usize, usize),
    /// A delivery, counted from the latest, is acknowledged.
    Ack(usize),
    /// A delivery, counted from the latest, is acknowledged with the number of the first round.
    AckOfTheFirst(usize),
    /// A delivery, counted from the latest, is returned with a nack, with or without a delay, and
    /// as failed or not.
    Nack(usize, Option<u64>, bool),
    /// More time is asked for to answer a delivery, counted from the latest.
    Touch(usize, Option<u64>),
    Cancel(u8, usize),
    /// A task is moved to that many milliseconds from now, or to now.
    Move {
        id: u8,
        route: usize,
        ahead: Option<u64>,
    },
    Kick(u8, usize),
    Delete(u8, usize),
    Pause(usize),
    Resume(usize),
    /// The times of a move are from now on.
    Bulk(BulkAct, usize),
    /// The content of the task of a delivery, counted from the latest, becomes unreadable.
    Damage(usize),
    Restart,
    SetClock(i64),
}

pub(super) fn history_event() -> impl Strategy<Value = HistoryEvent> {
    let id = 0..8u8;
    let route = 0..ROUTES.len();
    let registered = 0..=ROUTES.len();
    let consumer = 0..4usize;
    let back = 0..6usize;
    prop_oneof![
        8 => (id.clone(), route.clone(), ahead(), any::<bool>(), terms()).prop_map(
            |(id, route, (ahead, delayed), replace, terms)| {
                let terms = Box::new(terms);
                HistoryEvent::Schedule { id, route, ahead, replace, delayed, terms }
            }
        ),
        3 => (consumer.clone(), 0..2u8, ahead(), any::<bool>()).prop_map(
            |(consumer, id, (ahead, delayed), replace)| {
                HistoryEvent::ScheduleWithoutRoute { consumer, id, ahead, replace, delayed }
            }
        ),
        5 => Just(HistoryEvent::Commit),
        5 => Just(HistoryEvent::Tell),
        5 => Just(HistoryEvent::Tick),
        5 => (0..150u64).prop_map(HistoryEvent::Pass),
        // Beyond an ack timeout, and so that the low-water mark is raised.
        1 => (900..15_000u64).prop_map(HistoryEvent::Pass),
        2 => Just(HistoryEvent::Connect),
        1 => consumer.clone().prop_map(HistoryEvent::Closing),
        2 => consumer.clone().prop_map(HistoryEvent::Block),
        2 => consumer.clone().prop_map(HistoryEvent::Unblock),
        1 => consumer.clone().prop_map(HistoryEvent::DropLate),
        1 => consumer.clone().prop_map(HistoryEvent::Disconnect),
        4 => (consumer.clone(), registered.clone(), prop::option::of(1..4u16), any::<bool>()).prop_map(
            |(consumer, route, credit, exclusive)| {
                HistoryEvent::Register { consumer, route, credit, exclusive }
            }
        ),
        2 => (consumer, registered).prop_map(|(consumer, route)| {
            HistoryEvent::Unregister(consumer, route)
        }),
        4 => back.clone().prop_map(HistoryEvent::Ack),
        1 => back.clone().prop_map(HistoryEvent::AckOfTheFirst),
        3 => (back.clone(), prop::option::of(0..100u64), any::<bool>()).prop_map(
            |(back, delay, failed)| HistoryEvent::Nack(back, delay, failed)
        ),
        2 => (back.clone(), prop::option::of(1..5_000u64)).prop_map(|(back, extend)| {
            HistoryEvent::Touch(back, extend)
        }),
        2 => (id.clone(), route.clone()).prop_map(|(id, route)| HistoryEvent::Cancel(id, route)),
        4 => (id.clone(), route.clone(), prop::option::of(prop_oneof![0..300u64, 300..20_000u64]))
            .prop_map(|(id, route, ahead)| HistoryEvent::Move { id, route, ahead }),
        1 => (id.clone(), route.clone()).prop_map(|(id, route)| HistoryEvent::Kick(id, route)),
        1 => (id, route.clone()).prop_map(|(id, route)| HistoryEvent::Delete(id, route)),
        1 => route.clone().prop_map(HistoryEvent::Pause),
        1 => route.clone().prop_map(HistoryEvent::Resume),
        2 => (bulk_act(), route).prop_map(|(act, route)| HistoryEvent::Bulk(act, route)),
        1 => back.prop_map(HistoryEvent::Damage),
        1 => Just(HistoryEvent::Restart),
        1 => (-100_000..100_000i64).prop_map(HistoryEvent::SetClock),
    ]
}

/// Milliseconds from now, and whether they are a delay. Few of them are, so that some are repeated.
fn ahead() -> impl Strategy<Value = (u64, bool)> {
    prop_oneof![
        (0..300u64).prop_map(|ahead| (ahead, false)),
        prop::sample::select(vec![0, 1, 120]).prop_map(|delay| (delay, true)),
    ]
}

/// A move has times from now on.
fn bulk_act() -> impl Strategy<Value = BulkAct> {
    let to = prop_oneof![
        2 => Just(BulkMoveTo::Now),
        1 => (0..20_000u64).prop_map(BulkMoveTo::At),
        1 => (1..20_000u64).prop_map(BulkMoveTo::Later),
    ];
    let states = vec![TaskState::Waiting, TaskState::Parked, TaskState::Retrying];
    let state = prop::option::of(prop::sample::select(states));
    prop_oneof![
        3 => prop::sample::select(&[BulkAct::Kick, BulkAct::Delete, BulkAct::Purge]),
        3 => (to, state).prop_map(|(to, state)| BulkAct::Move(BulkMove { to, state })),
    ]
}

/// The terms of a schedule; its expiry this many milliseconds after its due time.
#[derive(Debug, Clone)]
pub(super) struct TermsAhead {
    pub(super) expires: Option<u64>,
    pub(super) terms: Terms,
}

fn terms() -> impl Strategy<Value = TermsAhead> {
    use prop::option::{of, weighted};
    let expires = weighted(0.15, prop_oneof![1..400u64, 1..20_000u64]);
    let delays = (of(1..300u64), of(0..300u64));
    let terms = weighted(0.3, (of(1..3_000u64), of(1..4u32), delays));
    (expires, terms).prop_map(|(expires, terms)| {
        let (ack_timeout_ms, max_attempts, (first, more)) = terms.unwrap_or_default();
        TermsAhead {
            expires,
            terms: Terms {
                expires_at: None,
                ack_timeout_ms,
                max_attempts,
                retry_delay_ms: first,
                max_retry_delay_ms: more.map(|more| first.unwrap_or(1) + more),
            },
        }
    })
}
