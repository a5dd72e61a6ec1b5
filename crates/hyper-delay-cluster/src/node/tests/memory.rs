//! What a node takes of the memory. Run by hand, alone, and with optimization:
//!
//! ```sh
//! cargo test --release -p hyper-delay-cluster --lib -- --ignored --nocapture memory_of_a_node
//! ```

use std::{
    fs,
    sync::{Arc, mpsc::channel},
    time::Duration,
};

use super::{
    fixture::{self, PRODUCER},
    requests,
};
use crate::{
    Charter, ShardId,
    lease::LeaseTimes,
    log::fake_async::SharedLog,
    node::{ClusterNode, NodeConfig, ShardNotice},
    shard::LeadershipChange,
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    clock::Clock,
    scheduler::{SchedulerInput, SchedulerMessage},
    sizes::Sizes,
};
use hyper_delay_protocol::Reply;

const TASKS: usize = 1_000_000;

const SHARDS: u16 = 8;

/// Requests of one input, and inputs in flight.
const BURST: usize = 100;
const INPUTS: usize = 64;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures, and takes minutes"]
async fn memory_of_a_node_with_a_million_tasks() {
    let directory = tempfile::tempdir().unwrap();
    let charter = Charter {
        cluster: 1,
        shards: SHARDS,
    };
    let clock = Clock::new();
    let log = SharedLog::new(charter);
    log.carry_out(&crate::log::LogRequest::Join(fixture::member(0)));
    let config = NodeConfig {
        charter,
        member: fixture::member(0),
        members: [fixture::member(0)].into(),
        lease: LeaseTimes::of(Duration::from_secs(2)),
        missing_links: Arc::default(),
        config: Arc::new(Config {
            data_dir: directory.path().join("db"),
            // All tasks are in it, so that there are as many in memory as there may be.
            window_ms: 7_200_000,
            ..Config::default()
        }),
        metrics: Arc::default(),
        group_bytes: 64 << 10,
        retention: 256 << 20,
        sync_interval: Duration::from_millis(500),
        sizes: Sizes::SMALL,
    };
    shows("before the start");
    let (tell, notices) = channel();
    let connection = log.connect(Duration::from_millis(500));
    let node = ClusterNode::start(connection, config, clock, Arc::default(), tell)
        .await
        .unwrap();
    let (mut leads, mut scheduled, mut made) = (0, 0, 0);
    let begun = std::time::Instant::now();
    let mut most = 0;
    while scheduled < TASKS {
        for (shard, notice) in notices.try_iter() {
            match notice {
                ShardNotice::LeadershipChanged(LeadershipChange::Begins(_)) => {
                    node.shards()[usize::from(shard.0)].input(SchedulerInput::Opened(PRODUCER));
                    leads += 1;
                    if leads == SHARDS {
                        shows("without a task");
                    }
                }
                ShardNotice::Messages(_, messages) => {
                    scheduled += messages
                        .iter()
                        .map(|(_, message)| match message {
                            SchedulerMessage::Reply(_, Reply::Scheduled { .. }) => 1,
                            other => panic!("{other:?}"),
                        })
                        .sum::<usize>();
                }
                ShardNotice::Stopped => panic!("{shard:?} has stopped"),
                _ => {}
            }
        }
        while leads == SHARDS && made < TASKS && made < scheduled + INPUTS * BURST {
            let shard = made / BURST % usize::from(SHARDS);
            let tasks = made..made + BURST;
            made += BURST;
            let id = ShardId(u16::try_from(shard).unwrap());
            let tasks = tasks.map(|task| format!("task-{task}").into());
            for input in requests::schedule(shard, tasks) {
                node.shards()[usize::from(id.0)].input(input);
            }
        }
        most = most.max(resident());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let rate = TASKS as f64 / begun.elapsed().as_secs_f64();
    println!(
        "{rate:.0} tasks/s with a log in memory, {} entries",
        log.appended()
    );
    println!("most while it was written to: {} MB", most >> 20);
    shows("with a million tasks, at once");
    tokio::time::sleep(Duration::from_secs(15)).await;
    shows("with a million tasks, at rest");
    let entries: usize = (0..SHARDS)
        .map(|shard| log.inner().shard(ShardId(shard)).journal.len())
        .sum();
    println!("{entries} entries are left in the journals");
    node.stop().await.unwrap();
}

/// Returns the resident memory in bytes.
fn resident() -> u64 {
    value("VmRSS:") << 10
}

fn shows(when: &str) {
    let (memory, threads) = (resident() >> 20, value("Threads:"));
    println!("{when}: {memory} MB, {threads} threads");
}

fn value(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let line = line.unwrap().trim().trim_end_matches(" kB");
    line.parse().unwrap()
}
