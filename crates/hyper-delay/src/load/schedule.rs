//! Schedules for later, acks, and cancels.

use std::time::Instant;

use super::{
    LoadError, Plan, Tally,
    ids::Ids,
    reply::Reply,
    request::{self, Schedules},
    time::{nanos, unix_millis},
    wire::Wire,
};

/// Schedules what is the business of this connection, with so many under way as the plan says.
pub(super) async fn schedule(
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
    let mut done = 0;
    while done < tasks {
        let room = tasks.min(done.saturating_add(plan.pipeline));
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
            if let Reply::Ack(number) = reply?
                && let Some(sent) = sent.get(number as usize)
            {
                took.push(now.saturating_sub(*sent));
                done += 1;
            }
        }
        tally.take(&mut took);
    }
    Ok(())
}

/// Cancels them.
pub(super) async fn cancel(
    plan: &Plan,
    wire: &mut Wire,
    ids: &Ids,
    tasks: u32,
) -> Result<(), LoadError> {
    let (mut next, mut done) = (0, 0);
    while done < tasks {
        while next < tasks.min(done.saturating_add(plan.pipeline)) {
            request::cancel(ids, next, &mut wire.out);
            next += 1;
        }
        wire.turn().await?;
        while let Some(reply) = wire.next() {
            done += u32::from(reply? == Reply::Cancelled);
        }
    }
    Ok(())
}
