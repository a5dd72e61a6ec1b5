//! The memory of all processes of a cluster under full load: resident, and in brackets without
//! mapped files.

use std::time::{Duration, Instant};

use hyper_delay::internals::load::Mode;

use crate::{
    Failure,
    cluster::Cluster,
    load::{Load, run as put},
    resident::Resident,
};

/// Schedules, deliveries and acks, so that the pending tasks do not grow.
const PORTION: Load = Load {
    mode: Mode::Deliver,
    connections: 18,
    pipeline: 64,
    tasks: 180_000,
};

/// How often the memory is shown.
const PAUSE: Duration = Duration::from_secs(30);

/// Puts a full load on a cluster for this many seconds.
pub(crate) async fn run(seconds: u64) -> Result<(), Failure> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let cluster = Cluster::start(folder.path())?;
    let all = |ids: Vec<u32>| -> Result<String, Failure> {
        let all = ids
            .into_iter()
            .map(|id| Resident::of(id).map(|it| format!("{} ({})", it.all, it.anonymous)));
        Ok(all.collect::<Result<Vec<_>, _>>()?.join(", "))
    };
    let began = Instant::now();
    let (mut done, mut shown) = (0, Instant::now());
    println!("| seconds | tasks | tasks/s | nodes, MB | etcd, MB |");
    println!("| --- | --- | --- | --- | --- |");
    loop {
        put(PORTION, &cluster.addresses(), &[]).await?;
        done += PORTION.tasks;
        let (elapsed, is_over) = (began.elapsed(), began.elapsed().as_secs() >= seconds);
        if shown.elapsed() < PAUSE && !is_over {
            continue;
        }
        shown = Instant::now();
        let rate = done as f64 / elapsed.as_secs_f64();
        let (nodes, members) = (all(cluster.nodes())?, all(cluster.etcd.ids())?);
        println!(
            "| {:.0} | {done} | {rate:.0} | {nodes} | {members} |",
            elapsed.as_secs_f64()
        );
        if is_over {
            return Ok(());
        }
    }
}
