//! Runs a load on all its connections.

use std::{process, sync::Arc, time::Instant};

use tokio::{sync::Barrier, task::JoinSet};

use super::{
    Cpu, Figures, LoadError, Mode, Plan, Tally, Wire,
    authenticate::authenticate,
    deliver::deliver,
    ids::Ids,
    late::{Share, late},
    request::Schedules,
    schedule::{cancel, schedule},
    taker::register,
};

/// Puts a load on a server and returns the measurements. `tally` shows the progress meanwhile.
/// `server` is the process id of the server; with it, the processor time of the server is measured.
///
/// # Errors
///
/// A connection is lost, the server refuses a request, or the process cannot be measured.
///
/// # Panics
///
/// Panics outside a tokio runtime with I/O and time enabled.
///
/// # Cancel safety
///
/// Dropping the future closes the connections. Scheduled tasks stay on the server.
pub async fn run(plan: Plan, tally: Arc<Tally>, server: Option<u32>) -> Result<Figures, LoadError> {
    let name = plan.name.clone();
    let name = name.unwrap_or_else(|| format!("bench-{:08x}", fastrand::u32(..)));
    let plan = Arc::new(plan);
    let payload: Arc<str> = plan.payload().into();
    // The load starts when all connections are open, and the cancels start after the last ack.
    let ready = Arc::new(Barrier::new(plan.connections as usize + 1));
    let measured = Arc::new(Barrier::new(plan.connections as usize + 1));
    let mut connections = JoinSet::new();
    for connection in 0..plan.connections {
        let connection = Connection {
            plan: plan.clone(),
            tally: tally.clone(),
            ids: Ids::new(&name, connection),
            payload: payload.clone(),
            share: Share {
                connection,
                tasks: plan.share(connection),
            },
        };
        connections.spawn(connection.run(ready.clone(), measured.clone()));
    }
    wait_or_fail(&mut connections, ready.wait()).await?;
    let before = server.map(Cpu::of).transpose()?;
    let own_before = Cpu::of(process::id()).ok();
    let begin = Instant::now();
    wait_or_fail(&mut connections, measured.wait()).await?;
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

/// Waits until all connections reach a barrier, or returns the error of the first one that fails.
async fn wait_or_fail(
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
    share: Share,
}

impl Connection {
    async fn run(self, ready: Arc<Barrier>, measured: Arc<Barrier>) -> Result<(), LoadError> {
        /// The credit for [`Mode::Late`]: so high that only the rate limits the deliveries.
        const CREDIT: u32 = 1024;
        let Self {
            plan,
            tally,
            ids,
            payload,
            share,
        } = self;
        let mut wire = Wire::connect(&plan.address, plan.tls.as_ref()).await?;
        if let Some(token) = &plan.token {
            authenticate(&mut wire, token).await?;
        }
        let lines = Schedules::new(&ids, &payload);
        match plan.mode {
            Mode::Schedule => {}
            Mode::Deliver => register(&mut wire, &ids, plan.pipeline).await?,
            Mode::Late => register(&mut wire, &ids, CREDIT).await?,
        }
        ready.wait().await;
        match plan.mode {
            Mode::Schedule => {
                schedule(&plan, &tally, &mut wire, &ids, &lines, share.tasks).await?;
            }
            Mode::Deliver => deliver(&plan, &tally, &mut wire, &ids, &lines, share.tasks).await?,
            Mode::Late => late(&plan, &tally, &mut wire, &ids, &lines, share).await?,
        }
        measured.wait().await;
        if plan.mode == Mode::Schedule && !plan.keep {
            cancel(&plan, &mut wire, &ids, share.tasks).await?;
        }
        Ok(())
    }
}
