//! A load on one or more addresses at the same time.

use std::{net::SocketAddr, process, sync::Arc, time::Duration};

use hyper_delay::internals::load::{self, Cpu, LoadError, Mode, Plan, Quantiles, Tally};
use tokio::task::JoinSet;

use crate::Failure;

/// The length of each payload in bytes.
pub(crate) const PAYLOAD: usize = 100;

/// How much is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) mode: Mode,
    /// On all addresses together.
    pub(crate) connections: u32,
    /// The maximum number of pending tasks on each connection.
    pub(crate) pipeline: u32,
    pub(crate) tasks: u64,
}

/// What was measured.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) tasks_per_second: f64,
    pub(crate) times: Quantiles,
    /// Microseconds of processor time per task, of each process that was named, and of the load.
    pub(crate) cpu: Vec<f64>,
    pub(crate) load_cpu: f64,
}

/// Puts a load on these addresses, the same part on each. Measures the processor time of `processes`.
pub(crate) async fn run(
    load: Load,
    addresses: &[SocketAddr],
    processes: &[u32],
) -> Result<Measured, Failure> {
    let parts = addresses.len() as u32;
    let delay = match load.mode {
        Mode::Schedule => Duration::from_secs(3_600),
        Mode::Deliver | Mode::Late => Duration::ZERO,
    };
    let used = |ids: &[u32]| -> Result<Vec<Cpu>, LoadError> {
        ids.iter().map(|id| Cpu::of(*id)).collect()
    };
    let own = [process::id()];
    let (before, own_before) = (used(processes)?, used(&own)?);
    let tally = Arc::new(Tally::new());
    let mut runs = JoinSet::new();
    for address in addresses {
        let plan = Plan {
            tls: None,
            token: None,
            address: address.to_string(),
            mode: load.mode,
            connections: load.connections / parts,
            pipeline: load.pipeline,
            tasks: load.tasks / u64::from(parts),
            payload_bytes: PAYLOAD,
            delay,
            rate: 1,
            keep: true,
            confirm: false,
            name: None,
        };
        runs.spawn(load::run(plan, tally.clone(), None));
    }
    let mut longest = 0.0_f64;
    while let Some(ended) = runs.join_next().await {
        longest = longest.max(ended??.seconds);
    }
    let per_task = |before: Vec<Cpu>, after: Vec<Cpu>| -> Vec<f64> {
        let took = before.into_iter().zip(after);
        let took = took.map(|(before, after)| after.since(before).as_secs_f64());
        took.map(|took| took * 1e6 / load.tasks as f64).collect()
    };
    Ok(Measured {
        tasks_per_second: load.tasks as f64 / longest,
        times: tally.quantiles(),
        load_cpu: per_task(own_before, used(&own)?)[0],
        cpu: per_task(before, used(processes)?),
    })
}
