//! One round: each server has each load once, in turn.

use std::{sync::Arc, time::Duration};

use hyper_delay::load::{self, LoadError, Mode, Plan, Tally};
use testkit::Server;

use crate::{
    Failure,
    beanstalkd::{self, Beanstalkd, Work},
    raw::Raw,
};

/// The length of a payload in bytes.
pub(crate) const PAYLOAD: usize = 100;

/// A load: connections, tasks under way on each; tasks of ours and of the peer, which is slower.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) connections: u32,
    pub(crate) pipeline: u32,
    tasks: u64,
    tasks_of_peer: u32,
}

pub(crate) const MANY: Load = Load {
    connections: 64,
    pipeline: 1,
    tasks: 25_600,
    tasks_of_peer: 6_400,
};
pub(crate) const CROWD: Load = Load {
    connections: 64,
    pipeline: 16,
    tasks: 60_000,
    tasks_of_peer: 6_400,
};
pub(crate) const ONE: Load = Load {
    connections: 1,
    pipeline: 64,
    tasks: 60_000,
    tasks_of_peer: 6_400,
};
pub(crate) const THROUGH: Load = Load {
    connections: 8,
    pipeline: 64,
    tasks: 60_000,
    tasks_of_peer: 4_000,
};

/// Tasks that fall due in a second, and for how many seconds.
const DUE: (u32, u32) = (1_000, 3);

/// The figures of a round. Of beanstalkd there are none if it is not installed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Writes with fdatasync a second.
    pub(crate) raw: f64,
    pub(crate) many: Pair,
    pub(crate) crowd: Pair,
    pub(crate) one: Pair,
    pub(crate) through: Pair,
    /// Microseconds for each durable ack.
    pub(crate) cpu: Pair,
    /// Milliseconds.
    pub(crate) late: (f64, f64),
    /// Microseconds of the load for each task of `one`.
    pub(crate) load: Pair,
}

/// Of hyper-delay and of beanstalkd.
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
    let many = ours(server, Mode::Schedule, MANY).await?;
    let many_of_peer = theirs(peer, Work::Put, MANY).await?;
    let crowd = ours(server, Mode::Schedule, CROWD).await?;
    let crowd_of_peer = theirs(peer, Work::Put, CROWD).await?;
    let one = ours(server, Mode::Schedule, ONE).await?;
    let one_of_peer = theirs(peer, Work::Put, ONE).await?;
    let through = ours(server, Mode::Deliver, THROUGH).await?;
    let through_of_peer = theirs(peer, Work::PutReserveDelete, THROUGH).await?;
    let late = ours(server, Mode::Late, THROUGH).await?;
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
        many: rate(&many, many_of_peer),
        crowd: rate(&crowd, crowd_of_peer),
        one: rate(&one, one_of_peer),
        through: rate(&through, through_of_peer),
        cpu: Pair {
            ours: one.server_cpu_us_per_task.unwrap_or_default(),
            peer: one_of_peer.map(|figures| figures.server_cpu_us_per_task),
        },
        late: (millis(late.times.p50), millis(late.times.p99)),
        load: Pair {
            ours: one.load_cpu_us_per_task.unwrap_or_default(),
            peer: one_of_peer.map(|figures| figures.load_cpu_us_per_task),
        },
    })
}

async fn ours(server: &Server, mode: Mode, of: Load) -> Result<load::Figures, LoadError> {
    let (delay, tasks) = match mode {
        Mode::Schedule => (Duration::from_secs(3_600), of.tasks),
        Mode::Deliver => (Duration::ZERO, of.tasks),
        Mode::Late => (Duration::from_secs(1), u64::from(DUE.0 * DUE.1)),
    };
    let plan = Plan {
        address: server.address.to_string(),
        mode,
        connections: of.connections,
        pipeline: of.pipeline,
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

async fn theirs(
    peer: Option<&Beanstalkd>,
    work: Work,
    of: Load,
) -> Result<Option<beanstalkd::Figures>, LoadError> {
    let Some(peer) = peer else {
        return Ok(None);
    };
    let Load {
        connections,
        pipeline,
        tasks_of_peer,
        ..
    } = of;
    let shape = (connections, pipeline);
    let figures = beanstalkd::run(
        &peer.address,
        peer.id(),
        work,
        shape,
        tasks_of_peer,
        PAYLOAD,
    );
    Ok(Some(figures.await?))
}
