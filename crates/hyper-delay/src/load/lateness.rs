//! The load of [`LoadMode::Late`](super::LoadMode::Late): tasks fall due at an even rate, and each
//! is scheduled `plan.delay` before.

use std::time::Duration;

use tokio::time::timeout;

use super::{
    LoadError, LoadPlan, LoadTally, consumer::LoadConsumer, request::ScheduleWriter,
    task_ids::TaskIds, time::unix_nanos, wire::Wire,
};

/// The time in which schedules are batched, so that the load does not wake for each.
const GATHER: Duration = Duration::from_millis(5);

/// The part of the load that one connection makes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLoad {
    /// The index of the connection.
    pub(super) connection: u32,
    /// The number of its tasks.
    pub(super) tasks: u32,
}

/// Schedules the tasks of one connection `plan.delay` before they are due, takes their deliveries
/// and acknowledges them.
pub(super) async fn measure_lateness(
    plan: &LoadPlan,
    tally: &LoadTally,
    wire: &mut Wire,
    ids: &TaskIds,
    lines: &ScheduleWriter,
    load: ConnectionLoad,
) -> Result<(), LoadError> {
    let tasks = load.tasks;
    let ahead = u64::try_from(plan.delay.as_nanos()).unwrap_or(u64::MAX);
    let begin = unix_nanos() + ahead;
    // Consecutive due times rotate over the connections.
    let due = |number: u32| {
        let among_all =
            u64::from(number) * u64::from(plan.connections) + u64::from(load.connection);
        let after = u128::from(among_all) * 1_000_000_000 / u128::from(plan.rate.max(1));
        (begin + u64::try_from(after).unwrap_or(u64::MAX / 2)) / 1_000_000
    };
    let mut consumer = LoadConsumer::new(tasks, plan.confirm);
    let mut took = Vec::new();
    let mut next = 0;
    while !consumer.is_done() {
        let now = unix_nanos();
        while next < tasks && due(next) * 1_000_000 <= now + ahead {
            lines.write(ids, next, due(next), &mut wire.out);
            next += 1;
        }
        // After the last schedule these wake-ups are unnecessary, but few.
        match timeout(GATHER, wire.exchange()).await {
            Ok(exchanged) => exchanged?,
            Err(_) => continue,
        }
        let now = unix_nanos();
        while let Some(reply) = wire.next() {
            if let Some(number) = consumer.handle(reply?, tally, wire, ids) {
                let due = due(number) * 1_000_000;
                if now < due {
                    tally.count_early();
                }
                took.push(now.saturating_sub(due));
            }
        }
        tally.record(&mut took);
    }
    Ok(())
}
