//! Schedules, deliveries and acks, as fast as they go.

use std::time::Instant;

use super::{
    LoadError, Plan, Tally,
    ids::Ids,
    request::Schedules,
    taker::Taker,
    time::{nanos, unix_millis},
    wire::Wire,
};

/// Schedules what is the business of this connection, with so many under way as the plan says, and takes it.
pub(super) async fn deliver(
    plan: &Plan,
    tally: &Tally,
    wire: &mut Wire,
    ids: &Ids,
    lines: &Schedules,
    tasks: u32,
) -> Result<(), LoadError> {
    let begin = Instant::now();
    let mut sent = Vec::with_capacity(tasks as usize);
    let mut took = Vec::new();
    let mut taker = Taker::new(tasks, plan.confirm);
    while !taker.over() {
        let room = tasks.min(taker.delivered.saturating_add(plan.pipeline));
        let next = u32::try_from(sent.len()).unwrap_or(u32::MAX);
        if next < room {
            let (now, fire_at) = (nanos(begin), unix_millis(plan.delay));
            for number in next..room {
                lines.write(ids, number, fire_at, &mut wire.out);
                sent.push(now);
            }
        }
        wire.turn().await?;
        let now = nanos(begin);
        while let Some(reply) = wire.next() {
            if let Some(number) = taker.take(reply?, tally, wire, ids)
                && let Some(sent) = sent.get(number as usize)
            {
                took.push(now.saturating_sub(*sent));
            }
        }
        tally.take(&mut took);
    }
    Ok(())
}
