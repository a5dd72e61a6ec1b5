//! What etcd itself does to a lease that is kept alive, when its leader was stopped for longer than
//! the lease lasts.
//!
//! ```sh
//! cargo test -p hyper-delay --features cluster --lib stalled -- --ignored --nocapture
//! ```

use std::time::{Duration, Instant};

use super::process::Processes;
use crate::cluster::log::{Answer, Log, Request, etcd::Etcd, facts::Node};

const ROUNDS: usize = 20;
const TTL: Duration = Duration::from_secs(4);

/// Returns whether the lease is there at the end, though it was kept alive all the time. `None`: it
/// was not, so nothing follows.
async fn outlives() -> Option<bool> {
    let etcd = Processes::three().await;
    let leader = etcd.leader().await;
    let mut config = etcd.config();
    config.lease = TTL;
    config.endpoints.rotate_left((leader + 1) % 3);
    let log = Etcd::new(&config).unwrap();
    let a = Node::new(&log, "a", TTL).await;
    etcd.stop(leader);
    let (begin, mut held, mut is_stopped) = (Instant::now(), Instant::now(), true);
    while begin.elapsed() < 3 * TTL {
        let sent = Instant::now();
        match log.call(Request::KeepAlive(a.lease)).await {
            Ok(Answer::Alive(None)) => return (held.elapsed() < TTL).then_some(false),
            Ok(_) => held = sent,
            Err(_) => {}
        }
        if is_stopped && begin.elapsed() > 2 * TTL {
            etcd.go_on(leader);
            is_stopped = false;
        }
        tokio::time::sleep(TTL / 40).await;
    }
    Some(true)
}

#[tokio::test]
#[ignore = "etcd before 3.4.31 and 3.5.13 fails: a leader that was stopped ends leases later"]
async fn lease_that_is_kept_alive_outlives_a_stalled_leader_of_etcd() {
    let mut ended = 0;
    for round in 0..ROUNDS {
        let outlives = outlives().await;
        println!("{round}: {outlives:?}");
        ended += usize::from(outlives == Some(false));
    }
    assert_eq!(ended, 0, "in {ROUNDS} rounds");
}
