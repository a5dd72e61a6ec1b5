//! Random histories in batches of random sizes, with a power loss after each write.

use proptest::{collection::vec, option::weighted, prelude::*, sample::select};

use super::{
    model::named,
    world::{World, failure, schedule},
};
use crate::ledger::{
    Actor, AuditedOp, NewBulkJob, NewDueTime, Op, Sweep, SweepAct, SweepMove, TaskMove,
    TaskRevision,
};
use hyper_delay_protocol::{BulkAct, BulkMove, BulkMoveTo, Filter, Headers, TaskState, Terms};
use hyper_delay_store::{Durability, record::Place};

/// A step of a history.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Op {
        kind: u8,
        route: &'static str,
        id: &'static str,
        at: u64,
        small: u32,
        stale: bool,
        /// The terms of a schedule.
        terms: Terms,
        /// The headers of a schedule.
        headers: &'static str,
        /// Whether a schedule has a delay, which ends at `at`.
        delay_ms: Option<u64>,
    },
    Commit {
        synced: bool,
    },
    /// The current batch ends, and waits to be committed.
    Take,
    /// The batch that ended last continues.
    Resume,
    CommitOldest {
        synced: bool,
    },
    /// Milliseconds pass.
    Wait(u64),
    /// A power loss that keeps this share of the unsynced writes, in thousandths.
    PowerLoss(usize),
}

/// Few values, so that a content is often repeated.
fn terms() -> impl Strategy<Value = Terms> {
    fn rarely<T: Clone + std::fmt::Debug + 'static>(
        values: &[T],
    ) -> impl Strategy<Value = Option<T>> + use<T> {
        weighted(0.2, select(values.to_vec()))
    }
    let delays = (rarely(&[1_u64, 2]), rarely(&[3_u64]));
    let terms = (
        rarely(&[10_005_u64, 10_012]),
        rarely(&[7_u64]),
        rarely(&[1_u32, 2]),
        delays,
    );
    terms.prop_map(|(expires_at, ack_timeout_ms, max_attempts, delays)| Terms {
        expires_at,
        ack_timeout_ms,
        max_attempts,
        retry_delay_ms: delays.0,
        max_retry_delay_ms: delays.1,
    })
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let op = (
        0_u8..24,
        select(vec!["r", "s", "rs"]),
        select(vec!["a", "b", "c", "ra"]),
        10_000_u64..10_010,
        0_u32..3,
        prop::bool::weighted(0.1),
        terms(),
        select(vec!["", r#"{"a":"b"}"#, r#"{"a":"c"}"#]),
        weighted(0.3, select(vec![0_u64, 4])),
    );
    let op = op.prop_map(
        |(kind, route, id, at, small, stale, terms, headers, delay_ms)| Step::Op {
            kind,
            route,
            id,
            at,
            small,
            stale,
            terms,
            headers,
            delay_ms,
        },
    );
    prop_oneof![
        12 => op,
        2 => any::<bool>().prop_map(|synced| Step::Commit { synced }),
        2 => Just(Step::Take),
        1 => Just(Step::Resume),
        2 => any::<bool>().prop_map(|synced| Step::CommitOldest { synced }),
        1 => (0_u64..700).prop_map(Step::Wait),
        1 => (0_usize..=1000).prop_map(Step::PowerLoss),
    ]
}

pub(super) fn op(world: &World, step: &Step) -> Option<Op> {
    let Step::Op {
        kind,
        route,
        id,
        at,
        small,
        stale,
        terms,
        headers,
        delay_ms,
    } = *step
    else {
        return None;
    };
    let current = world.revision(route, id);
    let current_seq = current.seq;
    let revision = TaskRevision {
        seq: current.seq - u64::from(stale && current.seq > 0),
        ..current
    };
    let payload = small.to_be_bytes();
    Some(match kind {
        0..=4 => {
            let mut op = schedule(route, id, at, &payload, kind > 2);
            if let Op::Schedule(order) = &mut op {
                order.terms = (terms != Terms::default()).then(|| Box::new(terms));
                order.headers = Headers::of_text(headers);
                order.delay_ms = delay_ms;
            }
            op
        }
        // The index names the number and the task together: never the number of another one.
        16 if has_number_of_another(world, &revision) => return None,
        16 => Op::Expire {
            at: expiry(world, &revision).unwrap_or(at),
            revision,
        },
        5 => Op::Finish(revision),
        6 => Op::Retry {
            attempt: revision.attempt,
            revision,
            at,
            failures: small,
            failure: (!stale).then(|| failure(at, (at % 2 == 0).then_some("no disk"))),
        },
        7 => Op::Park(TaskRevision {
            attempt: small,
            ..revision
        }),
        8 => Op::Bury {
            attempt: revision.attempt,
            revision,
            at,
            failures: small,
            reason: (at % 2 == 0).then(|| "no disk".into()),
            failure: (at % 3 == 0).then(|| failure(at, None)),
        },
        9 => Op::Count {
            attempt: revision.attempt + small,
            revision,
        },
        10 => Op::Cancel {
            route: route.into(),
            id: id.into(),
        },
        11 => {
            let delete = Op::Delete {
                route: route.into(),
                id: id.into(),
            };
            match stale {
                true => delete,
                false => audited(delete),
            }
        }
        12 => {
            let place = world
                .model
                .tasks
                .get(&named(route, id))
                .map(|task| task.place);
            let dead = place.filter(|place| matches!(place, Place::Dead(_)));
            // A letter that was kicked and died again is at another place.
            let place = dead.filter(|_| at % 2 == 0).unwrap_or(Place::Dead(at));
            Op::Sweep(Sweep {
                job: (!small.is_multiple_of(3)).then_some(u64::from(small)),
                route: revision.route,
                id: revision.id,
                seq: revision.seq,
                act: match small {
                    0 => SweepAct::Kick { place, at },
                    1 => SweepAct::Delete { place },
                    _ => SweepAct::Purge,
                },
            })
        }
        18 | 19 => Op::Move(TaskMove {
            route: revision.route,
            id: revision.id,
            due: match small {
                0 => NewDueTime::NotAfter(at),
                _ => NewDueTime::At(at),
            },
            in_flight: stale.then_some(current_seq),
        }),
        21 => audited(Op::BeginBulk(Box::new(NewBulkJob {
            act: BulkAct::Move(BulkMove {
                to: move_to(at, small),
                state: match at % 5 {
                    0 => Some(TaskState::Waiting),
                    1 => Some(TaskState::Parked),
                    2 => Some(TaskState::Retrying),
                    _ => None,
                },
            }),
            route: route.into(),
            filter: Filter {
                reason: (small == 2).then(|| if stale { "" } else { "no disk" }.into()),
                from: (at % 3 == 0).then_some(at - 2),
                until: (at % 4 == 0).then_some(at + 3),
            },
            in_flight: false,
            at,
            actor: Actor::default(),
        }))),
        22 | 23 => {
            let jobs: Vec<_> = world.model.moving.iter().collect();
            let job = jobs.get(usize::try_from(at).unwrap() % jobs.len().max(1));
            Op::Sweep(Sweep {
                job: job.map(|(job, _)| **job),
                route: revision.route,
                id: revision.id,
                seq: revision.seq,
                act: SweepAct::Move(SweepMove {
                    to: job.map_or(BulkMoveTo::Now, |(_, (moves, _, _))| moves.to),
                    now: at,
                    latest: at + 8,
                }),
            })
        }
        13 if stale => audited(Op::BeginBulk(Box::new(NewBulkJob {
            act: BulkAct::Purge,
            route: route.into(),
            filter: Filter::default(),
            in_flight: false,
            at,
            actor: Actor::default(),
        }))),
        13 if small == 0 => Op::Resume(route.into()),
        13 => Op::Pause(route.into()),
        17 => Op::CheckRetrying {
            after: Box::default(),
        },
        _ if stale => Op::AdvanceLowWater(world.model.earliest().unwrap_or(at).min(at)),
        _ => Op::Kick {
            route: route.into(),
            id: id.into(),
            at,
        },
    })
}

fn move_to(at: u64, small: u32) -> BulkMoveTo {
    match small {
        0 => BulkMoveTo::Now,
        1 => BulkMoveTo::At(at),
        _ => BulkMoveTo::Later(at % 10 + 1),
    }
}

/// When a task expires.
fn expiry(world: &World, revision: &TaskRevision) -> Option<u64> {
    let task = world
        .model
        .tasks
        .get(&named(&revision.route, &revision.id))?;
    task.terms.as_ref()?.expires_at
}

fn has_number_of_another(world: &World, revision: &TaskRevision) -> bool {
    let name = named(&revision.route, &revision.id);
    let mut tasks = world.model.tasks.iter();
    tasks.any(|(other, task)| task.seq == revision.seq && *other != name)
}

fn audited(op: Op) -> Op {
    let actor = Actor::default();
    Op::Audited(Box::new(AuditedOp { op, actor }))
}

const fn durability(synced: bool) -> Durability {
    match synced {
        true => Durability::Synced,
        false => Durability::Written,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testkit::cases(400)))]

    #[test]
    fn every_history_is_consistent_after_every_power_loss(steps in vec(step(), 1..120)) {
        let mut world = World::new();
        for step in &steps {
            match *step {
                Step::Op { .. } => {
                    if let Some(op) = op(&world, step) {
                        world.apply(&op);
                    }
                }
                Step::Commit { synced } => world.commit(durability(synced)),
                Step::Take => world.take(),
                Step::Resume => world.resume(),
                Step::CommitOldest { synced } => world.commit_oldest(durability(synced)),
                Step::Wait(millis) => world.now += millis,
                Step::PowerLoss(share) => {
                    let more = world.store.unsynced() * share / 1000;
                    world = world.after_power_loss(more);
                }
            }
        }
        world.commit(Durability::Written);
        world.survives_every_power_loss();
    }
}
