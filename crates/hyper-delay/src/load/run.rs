//! The load as a whole.

use std::{process, sync::Arc, time::Instant};

use tokio::{sync::Barrier, task::JoinSet};

use super::{
    Cpu, Figures, LoadError, Mode, Plan, Tally,
    deliver::deliver,
    ids::Ids,
    late::{Turn, late},
    request::Schedules,
    schedule::{cancel, schedule},
    taker::register,
    wire::Wire,
};

/// Puts the load on a server, and tells what came out. `tally` tells meanwhile how far it is. With the process id of the
/// server it tells what that took of the processors.
///
/// # Errors
///
/// When a connection is lost, or the server refuses something.
///
/// # Panics
///
/// Outside a tokio runtime that has its I/O and time drivers on.
///
/// # Cancel safety
///
/// Dropping it closes the connections; tasks that were scheduled stay.
pub async fn run(plan: Plan, tally: Arc<Tally>, server: Option<u32>) -> Result<Figures, LoadError> {
    let name = plan.name.clone();
    let name = name.unwrap_or_else(|| format!("bench-{:08x}", fastrand::u32(..)));
    let plan = Arc::new(plan);
    let payload: Arc<str> = plan.payload().into();
    // All connections are there before the first task is, and the cancels wait for the last ack.
    let ready = Arc::new(Barrier::new(plan.connections as usize + 1));
    let over = Arc::new(Barrier::new(plan.connections as usize + 1));
    let mut connections = JoinSet::new();
    for connection in 0..plan.connections {
        let connection = Connection {
            plan: plan.clone(),
            tally: tally.clone(),
            ids: Ids::new(&name, connection),
            payload: payload.clone(),
            turn: Turn {
                connection,
                tasks: plan.share(connection),
            },
        };
        connections.spawn(connection.run(ready.clone(), over.clone()));
    }
    failing(&mut connections, ready.wait()).await?;
    let before = server.map(Cpu::of).transpose()?;
    let own_before = Cpu::of(process::id()).ok();
    let begin = Instant::now();
    failing(&mut connections, over.wait()).await?;
    let seconds = begin.elapsed().as_secs_f64();
    let after = server.map(Cpu::of).transpose()?;
    let own_after = Cpu::of(process::id()).ok();
    while let Some(ended) = connections.join_next().await {
        ended.expect("no connection panics")?;
    }

    let per_task = |before: Option<Cpu>, after: Option<Cpu>| {
        let took = after?.since(before?).as_secs_f64();
        Some(took * 1e6 / plan.tasks.max(1) as f64)
    };
    Ok(Figures {
        mode: plan.mode,
        connections: plan.connections,
        pipeline: plan.pipeline,
        tasks: plan.tasks,
        payload_bytes: plan.payload_bytes,
        seconds,
        tasks_per_second: plan.tasks as f64 / seconds,
        times: tally.quantiles(),
        early: tally.early(),
        again: tally.again(),
        load_cpu_us_per_task: per_task(own_before, own_after),
        server_cpu_us_per_task: per_task(before, after),
    })
}

/// Waits for all connections at a barrier, unless one fails on the way there.
async fn failing(
    connections: &mut JoinSet<Result<(), LoadError>>,
    barrier: impl Future,
) -> Result<(), LoadError> {
    let mut barrier = std::pin::pin!(barrier);
    loop {
        tokio::select! {
            biased;
            _ = &mut barrier => return Ok(()),
            Some(ended) = connections.join_next() => ended.expect("no connection panics")?,
        }
    }
}

struct Connection {
    plan: Arc<Plan>,
    tally: Arc<Tally>,
    ids: Ids,
    payload: Arc<str>,
    turn: Turn,
}

impl Connection {
    async fn run(self, ready: Arc<Barrier>, over: Arc<Barrier>) -> Result<(), LoadError> {
        /// What may be in flight when it is the rate, not the window, that bounds it.
        const UNBOUND: u32 = 1024;
        let Self {
            plan,
            tally,
            ids,
            payload,
            turn,
        } = self;
        let mut wire = Wire::connect(&plan.address).await?;
        let lines = Schedules::new(&ids, &payload);
        match plan.mode {
            Mode::Schedule => {}
            Mode::Deliver => register(&mut wire, &ids, plan.pipeline).await?,
            Mode::Late => register(&mut wire, &ids, UNBOUND).await?,
        }
        ready.wait().await;
        match plan.mode {
            Mode::Schedule => {
                schedule(&plan, &tally, &mut wire, &ids, &lines, turn.tasks).await?;
            }
            Mode::Deliver => deliver(&plan, &tally, &mut wire, &ids, &lines, turn.tasks).await?,
            Mode::Late => late(&plan, &tally, &mut wire, &ids, &lines, turn).await?,
        }
        over.wait().await;
        if plan.mode == Mode::Schedule && !plan.keep {
            cancel(&plan, &mut wire, &ids, turn.tasks).await?;
        }
        Ok(())
    }
}
