//! The load of [`LoadMode::Schedule`](super::LoadMode::Schedule): schedules for later and their
//! replies, then cancels.

use std::time::Instant;

use super::{
    LoadError, LoadPlan, LoadTally,
    reply::LoadReply,
    request::{self, ScheduleWriter},
    task_ids::TaskIds,
    time::{nanos, unix_millis},
    wire::Wire,
};

/// Schedules the tasks of one connection. At most `plan.pipeline` are pending at a time.
pub(super) async fn schedule(
    plan: &LoadPlan,
    tally: &LoadTally,
    wire: &mut Wire,
    ids: &TaskIds,
    lines: &ScheduleWriter,
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
        wire.exchange().await?;
        let now = nanos(begin);
        while let Some(reply) = wire.next() {
            if let LoadReply::Scheduled(number) = reply?
                && let Some(sent) = sent.get(number as usize)
            {
                took.push(now.saturating_sub(*sent));
                done += 1;
            }
        }
        tally.record(&mut took);
    }
    Ok(())
}

/// Cancels the tasks of one connection. At most `plan.pipeline` cancels are pending at a time.
pub(super) async fn cancel(
    plan: &LoadPlan,
    wire: &mut Wire,
    ids: &TaskIds,
    tasks: u32,
) -> Result<(), LoadError> {
    let (mut next, mut done) = (0, 0);
    while done < tasks {
        while next < tasks.min(done.saturating_add(plan.pipeline)) {
            request::cancel(ids, next, &mut wire.out);
            next += 1;
        }
        wire.exchange().await?;
        while let Some(reply) = wire.next() {
            done += u32::from(reply? == LoadReply::Cancelled);
        }
    }
    Ok(())
}
