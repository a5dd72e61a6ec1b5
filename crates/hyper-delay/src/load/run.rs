//! Runs a load on all its connections.

use std::{process, sync::Arc, time::Instant};

use tokio::{sync::Barrier, task::JoinSet};

use super::{
    Cpu, Figures, LoadError, LoadMode, LoadPlan, LoadTally, Wire,
    authenticate::authenticate,
    consumer::register,
    deliver::deliver,
    lateness::{ConnectionLoad, measure_lateness},
    request::ScheduleWriter,
    schedule::{cancel, schedule},
    task_ids::TaskIds,
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
pub async fn run(
    plan: LoadPlan,
    tally: Arc<LoadTally>,
    server: Option<u32>,
) -> Result<Figures, LoadError> {
    let name = plan.name.clone();
    let name = name.unwrap_or_else(|| format!("bench-{:08x}", fastrand::u32(..)));
    let plan = Arc::new(plan);
    let payload: Arc<str> = plan.payload().into();
    // The load starts when all connections are open, and the cancels start after the last ack.
    let ready = Arc::new(Barrier::new(plan.connections as usize + 1));
    let measured = Arc::new(Barrier::new(plan.connections as usize + 1));
    let mut connections = JoinSet::new();
    for connection in 0..plan.connections {
        let connection = LoadConnection {
            plan: plan.clone(),
            tally: tally.clone(),
            ids: TaskIds::new(&name, connection),
            payload: payload.clone(),
            load: ConnectionLoad {
                connection,
                tasks: plan.load(connection),
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

struct LoadConnection {
    plan: Arc<LoadPlan>,
    tally: Arc<LoadTally>,
    ids: TaskIds,
    payload: Arc<str>,
    load: ConnectionLoad,
}

impl LoadConnection {
    async fn run(self, ready: Arc<Barrier>, measured: Arc<Barrier>) -> Result<(), LoadError> {
        /// The credit for [`LoadMode::Late`]: so high that only the rate limits the deliveries.
        const CREDIT: u32 = 1024;
        let Self {
            plan,
            tally,
            ids,
            payload,
            load,
        } = self;
        let mut wire = Wire::connect(&plan.address, plan.tls.as_ref()).await?;
        if let Some(token) = &plan.token {
            authenticate(&mut wire, token).await?;
        }
        let lines = ScheduleWriter::new(&ids, &payload);
        match plan.mode {
            LoadMode::Schedule => {}
            LoadMode::Deliver => register(&mut wire, &ids, plan.pipeline).await?,
            LoadMode::Late => register(&mut wire, &ids, CREDIT).await?,
        }
        ready.wait().await;
        match plan.mode {
            LoadMode::Schedule => {
                schedule(&plan, &tally, &mut wire, &ids, &lines, load.tasks).await?;
            }
            LoadMode::Deliver => {
                deliver(&plan, &tally, &mut wire, &ids, &lines, load.tasks).await?;
            }
            LoadMode::Late => {
                measure_lateness(&plan, &tally, &mut wire, &ids, &lines, load).await?;
            }
        }
        measured.wait().await;
        if plan.mode == LoadMode::Schedule && !plan.keep {
            cancel(&plan, &mut wire, &ids, load.tasks).await?;
        }
        Ok(())
    }
}
