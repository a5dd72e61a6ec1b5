//! A node whose server has no thread to spare.

use std::{sync::mpsc::channel, thread, time::Instant};

use tokio::runtime::{Builder, Runtime};

use super::*;
use crate::{ShardId, log::LogAnswer};

impl Nodes {
    /// Returns the revision of the heartbeat of the first node. 0: there is none.
    fn heartbeat_revision(&self) -> u64 {
        let LogAnswer::Members(members) = self.log.carry_out(&LogRequest::Members) else {
            panic!("no members");
        };
        members[0]
            .heartbeat
            .as_ref()
            .map_or(0, |heartbeat| heartbeat.revision)
    }

    /// Returns the entry up to which the first node has synced a shard, for the shard that has
    /// synced most.
    fn synced(&self) -> u64 {
        let synced = (0..SHARDS).map(|shard| {
            let reports = self.log.carry_out(&LogRequest::Reports(ShardId(shard)));
            let LogAnswer::Reports(reports) = reports else {
                panic!("no reports");
            };
            reports.first().map_or(0, |(_, synced)| *synced)
        });
        synced.max().unwrap()
    }
}

/// Waits on this thread, beside the runtime.
fn until(is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "it never becomes so");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A runtime with one worker, and one thread for what blocks.
fn runtime() -> Runtime {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).max_blocking_threads(1);
    runtime.enable_all().build().unwrap()
}

#[test]
fn lease_is_kept_alive_while_clients_occupy_the_workers() {
    let runtime = runtime();
    let handle = runtime.handle();
    let nodes = handle.block_on(runtime_task(handle, Nodes::start(1)));
    until(|| nodes.heartbeat_revision() > 0);
    let (release, released) = channel::<()>();
    let (tell, occupied) = channel();
    handle.spawn(async move {
        tell.send(()).unwrap();
        let _ = released.recv();
    });
    occupied.recv_timeout(PATIENCE).unwrap();
    let before = nodes.heartbeat_revision();
    until(|| nodes.heartbeat_revision() > before);
    drop(release);
    handle.block_on(runtime_task(handle, nodes.stop_all()));
}

#[test]
fn node_syncs_its_replicas_while_clients_occupy_the_blocking_threads() {
    let runtime = runtime();
    let handle = runtime.handle();
    let nodes = handle.block_on(runtime_task(handle, Nodes::start(1)));
    // The start of the server needs that thread.
    until(|| nodes.heartbeat_revision() > 0);
    let (release, released) = channel::<()>();
    let (tell, occupied) = channel();
    handle.spawn_blocking(move || {
        tell.send(()).unwrap();
        let _ = released.recv();
    });
    occupied.recv_timeout(PATIENCE).unwrap();
    let address = nodes.address(0);
    let scheduled = thread::spawn(move || {
        let mut producer = Peer::connect(address);
        insist(&mut producer, &schedule("route", "x", later()))
    });
    assert_eq!(scheduled.join().unwrap()["kind"], "ack");
    until(|| nodes.synced() > 0);
    drop(release);
    handle.block_on(runtime_task(handle, nodes.stop_all()));
}

/// Runs a future on the workers of a runtime.
async fn runtime_task<T: Send + 'static>(
    handle: &tokio::runtime::Handle,
    task: impl Future<Output = T> + Send + 'static,
) -> T {
    handle.spawn(task).await.unwrap()
}
