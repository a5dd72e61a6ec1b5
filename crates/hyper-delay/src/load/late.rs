//! Tasks that fall due evenly, each scheduled a while before.

use std::time::Duration;

use tokio::time::timeout;

use super::{
    LoadError, Plan, Tally, ids::Ids, request::Schedules, taker::Taker, time::unix_nanos,
    wire::Wire,
};

/// How long schedules may gather, so that the load does not wake for each.
const GATHER: Duration = Duration::from_millis(5);

/// The number of the connection, and the number of its tasks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) connection: u32,
    pub(super) tasks: u32,
}

/// Schedules what is the business of this connection at the time for it, and takes it.
pub(super) async fn late(
    plan: &Plan,
    tally: &Tally,
    wire: &mut Wire,
    ids: &Ids,
    lines: &Schedules,
    turn: Turn,
) -> Result<(), LoadError> {
    let tasks = turn.tasks;
    let ahead = u64::try_from(plan.delay.as_nanos()).unwrap_or(u64::MAX);
    let begin = unix_nanos() + ahead;
    // The tasks of all connections take turns.
    let due = |number: u32| {
        let among_all =
            u64::from(number) * u64::from(plan.connections) + u64::from(turn.connection);
        let after = u128::from(among_all) * 1_000_000_000 / u128::from(plan.rate.max(1));
        (begin + u64::try_from(after).unwrap_or(u64::MAX / 2)) / 1_000_000
    };
    let mut taker = Taker::new(tasks, plan.confirm);
    let mut took = Vec::new();
    let mut next = 0;
    while !taker.over() {
        let now = unix_nanos();
        while next < tasks && due(next) * 1_000_000 <= now + ahead {
            lines.write(ids, next, due(next), &mut wire.out);
            next += 1;
        }
        // When there is nothing more to schedule, this wakes a little too often for a little while.
        match timeout(GATHER, wire.turn()).await {
            Ok(turned) => turned?,
            Err(_) => continue,
        }
        let now = unix_nanos();
        while let Some(reply) = wire.next() {
            if let Some(number) = taker.take(reply?, tally, wire, ids) {
                let due = due(number) * 1_000_000;
                if now < due {
                    tally.was_early();
                }
                took.push(now.saturating_sub(due));
            }
        }
        tally.take(&mut took);
    }
    Ok(())
}
