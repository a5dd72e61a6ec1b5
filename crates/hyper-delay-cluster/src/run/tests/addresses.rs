//! The address of a node, as the cluster knows it.

use tokio::time::{sleep, timeout};

use super::*;
use crate::log::LogAnswer;

impl Nodes {
    /// Returns the address of a node, as the log has it.
    fn known(&self, node: usize) -> String {
        let LogAnswer::Members(members) = self.log.carry_out(&LogRequest::Members) else {
            panic!("no members");
        };
        let mut members = members.into_iter().map(|it| it.member);
        let member = members.find(|it| *it.node == *name(node)).unwrap();
        member.address.to_string()
    }

    /// Waits until a process has asked for its lease in vain.
    async fn is_refused(&self, process: &RunningServer) {
        let waiting = async {
            while process.log.refused() == 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("it is refused");
    }

    /// Waits until the process that runs has the lease of the node.
    async fn has_lease(&self, node: usize) {
        let is_alive = || {
            let LogAnswer::Members(members) = self.log.carry_out(&LogRequest::Members) else {
                panic!("no members");
            };
            members
                .iter()
                .any(|it| *it.member.node == *name(node) && it.heartbeat.is_some())
        };
        let waiting = async {
            while !is_alive() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("it becomes so");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn second_process_of_a_living_node_does_not_change_its_address() {
    let nodes = Nodes::start_with(1, LONG_LEASE).await;
    nodes.has_lease(0).await;
    let address = nodes.links[0].to_string();
    // It has the data directory of the living one, and ends.
    let data_dir = nodes.disks[0].path().join("db");
    let locked_out = nodes.process(0, loopback(), data_dir).await;
    let ended = timeout(PATIENCE, locked_out.server).await;
    ended.expect("it ends").unwrap().unwrap_err();
    assert_eq!(nodes.known(0), address);
    // It has one of its own, and waits for the lease.
    let disk = tempfile::tempdir().unwrap();
    let data_dir = disk.path().join("db");
    let waiting = nodes.process(0, loopback(), data_dir).await;
    nodes.is_refused(&waiting).await;
    // A change of the address can come a little later.
    let begin = Instant::now();
    while begin.elapsed() < LEASE {
        assert_eq!(nodes.known(0), address);
        sleep(Duration::from_millis(5)).await;
    }
    assert!(!waiting.server.is_finished());
    waiting.server.abort();
    let _ = waiting.server.await;
    nodes.stop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_process_of_a_living_node_takes_no_links_from_it() {
    // A request is refused if a lease is lost.
    let nodes = Nodes::start_with(2, LONG_LEASE).await;
    let addresses: Vec<_> = (0..2).map(|node| nodes.address(node)).collect();
    let at = later();
    let schedules = move |insists: bool| {
        for address in &addresses {
            let mut producer = Peer::connect(*address);
            for route in routes() {
                let request = schedule(&route, "x", at);
                let reply = match insists {
                    true => insist(&mut producer, &request),
                    false => producer.ask(&request),
                };
                assert_eq!(reply["kind"], "ack", "{reply}");
            }
        }
    };
    let settled = schedules.clone();
    blocking(move || settled(true)).await;
    let disk = tempfile::tempdir().unwrap();
    let data_dir = disk.path().join("db");
    let second = nodes.process(1, loopback(), data_dir).await;
    nodes.is_refused(&second).await;
    blocking(move || {
        // A link of the second process can come a little later.
        let begin = Instant::now();
        loop {
            schedules(false);
            if begin.elapsed() > LEASE {
                break;
            }
        }
    })
    .await;
    second.server.abort();
    let _ = second.server.await;
    nodes.kill_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_address_of_a_node_becomes_known_once_it_has_its_lease() {
    let mut nodes = Nodes::start(1).await;
    nodes.has_lease(0).await;
    nodes.stop(0).await;
    nodes.links[0] = loopback();
    let address = nodes.links[0].to_string();
    nodes.run(0).await;
    let waiting = async {
        while nodes.known(0) != address {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("it becomes known");
    nodes.stop_all().await;
}
