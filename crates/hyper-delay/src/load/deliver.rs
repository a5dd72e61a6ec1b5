//! The load of [`LoadMode::Deliver`](super::LoadMode::Deliver): schedules, deliveries and acks at
//! full speed.

use std::time::Instant;

use super::{
    LoadError, LoadPlan, LoadTally,
    consumer::LoadConsumer,
    request::ScheduleWriter,
    task_ids::TaskIds,
    time::{nanos, unix_millis},
    wire::Wire,
};

/// Schedules the tasks of one connection, takes their deliveries and acknowledges them. At most
/// `plan.pipeline` tasks are pending at a time.
pub(super) async fn deliver(
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
    let mut consumer = LoadConsumer::new(tasks, plan.confirm);
    while !consumer.is_done() {
        let room = tasks.min(consumer.delivered.saturating_add(plan.pipeline));
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
            if let Some(number) = consumer.handle(reply?, tally, wire, ids)
                && let Some(sent) = sent.get(number as usize)
            {
                took.push(now.saturating_sub(*sent));
            }
        }
        tally.record(&mut took);
    }
    Ok(())
}
