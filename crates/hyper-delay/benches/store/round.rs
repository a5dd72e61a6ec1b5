//! One round: each load runs once on each server, in turn.

use std::{sync::Arc, time::Duration};

use hyper_delay::internals::load::{self, LoadError, Mode, Plan, Tally};
use testkit::Server;

use crate::{
    Failure,
    beanstalkd::{self, Beanstalkd, Work},
    raw::Raw,
};

/// The length of each payload in bytes.
pub(crate) const PAYLOAD: usize = 100;

/// The size of a load. The peer gets fewer tasks, as it is slower.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) connections: u32,
    /// The maximum number of pending tasks on each connection.
    pub(crate) pipeline: u32,
    tasks: u64,
    peer_tasks: u32,
}

/// Schedules from many connections, one pending on each.
pub(crate) const MANY: Load = Load {
    connections: 64,
    pipeline: 1,
    tasks: 25_600,
    peer_tasks: 6_400,
};
/// Schedules from many connections, several pending on each.
pub(crate) const CROWD: Load = Load {
    connections: 64,
    pipeline: 16,
    tasks: 60_000,
    peer_tasks: 6_400,
};
/// Schedules from one connection.
pub(crate) const ONE: Load = Load {
    connections: 1,
    pipeline: 64,
    tasks: 60_000,
    peer_tasks: 6_400,
};
/// Schedules, deliveries and acks.
pub(crate) const THROUGH: Load = Load {
    connections: 8,
    pipeline: 64,
    tasks: 60_000,
    peer_tasks: 4_000,
};

/// Tasks that fall due per second, and the number of seconds.
const DUE: (u32, u32) = (1_000, 3);

/// The figures of a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Writes with fdatasync per second.
    pub(crate) raw: f64,
    pub(crate) many: Pair,
    pub(crate) crowd: Pair,
    pub(crate) one: Pair,
    pub(crate) through: Pair,
    /// Processor time of the server per task of `one`, in microseconds.
    pub(crate) cpu: Pair,
    /// Lateness in milliseconds: p50 and p99.
    pub(crate) late: (f64, f64),
    /// Processor time of the load per task of `one`, in microseconds.
    pub(crate) load: Pair,
}

/// A figure of hyper-delay and of beanstalkd. `peer` is `None` if beanstalkd is not installed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) ours: f64,
    pub(crate) peer: Option<f64>,
}

pub(crate) async fn round(
    raw: &mut Raw,
    server: &Server,
    peer: Option<&Beanstalkd>,
) -> Result<Round, Failure> {
    const SLICE: Duration = Duration::from_millis(500);
    let raw = 1.0 / raw.run(SLICE)?;
    let many = our_run(server, Mode::Schedule, MANY).await?;
    let many_peer = peer_run(peer, Work::Put, MANY).await?;
    let crowd = our_run(server, Mode::Schedule, CROWD).await?;
    let crowd_peer = peer_run(peer, Work::Put, CROWD).await?;
    let one = our_run(server, Mode::Schedule, ONE).await?;
    let one_peer = peer_run(peer, Work::Put, ONE).await?;
    let through = our_run(server, Mode::Deliver, THROUGH).await?;
    let through_peer = peer_run(peer, Work::PutReserveDelete, THROUGH).await?;
    let late = our_run(server, Mode::Late, THROUGH).await?;
    if late.early > 0 {
        return Err(format!("{} tasks were delivered early", late.early).into());
    }
    let rate = |ours: &load::Figures, peer: Option<beanstalkd::Figures>| Pair {
        ours: ours.tasks_per_second,
        peer: peer.map(|figures| figures.tasks_per_second),
    };
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(Round {
        raw,
        many: rate(&many, many_peer),
        crowd: rate(&crowd, crowd_peer),
        one: rate(&one, one_peer),
        through: rate(&through, through_peer),
        cpu: Pair {
            ours: one.server_cpu_us_per_task.unwrap_or_default(),
            peer: one_peer.map(|figures| figures.server_cpu_us_per_task),
        },
        late: (millis(late.times.p50), millis(late.times.p99)),
        load: Pair {
            ours: one.load_cpu_us_per_task.unwrap_or_default(),
            peer: one_peer.map(|figures| figures.load_cpu_us_per_task),
        },
    })
}

async fn our_run(server: &Server, mode: Mode, size: Load) -> Result<load::Figures, LoadError> {
    let (delay, tasks) = match mode {
        Mode::Schedule => (Duration::from_secs(3_600), size.tasks),
        Mode::Deliver => (Duration::ZERO, size.tasks),
        Mode::Late => (Duration::from_secs(1), u64::from(DUE.0 * DUE.1)),
    };
    let plan = Plan {
        tls: None,
        token: None,
        address: server.address.to_string(),
        mode,
        connections: size.connections,
        pipeline: size.pipeline,
        tasks,
        payload_bytes: PAYLOAD,
        delay,
        rate: DUE.0,
        keep: true,
        confirm: false,
        name: None,
    };
    load::run(plan, Arc::new(Tally::new()), Some(server.id())).await
}

async fn peer_run(
    peer: Option<&Beanstalkd>,
    work: Work,
    size: Load,
) -> Result<Option<beanstalkd::Figures>, LoadError> {
    let Some(peer) = peer else {
        return Ok(None);
    };
    let Load {
        connections,
        pipeline,
        peer_tasks,
        ..
    } = size;
    let shape = (connections, pipeline);
    let figures = beanstalkd::run(&peer.address, peer.id(), work, shape, peer_tasks, PAYLOAD);
    Ok(Some(figures.await?))
}
