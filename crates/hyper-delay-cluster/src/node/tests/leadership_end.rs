//! Messages to serving nodes at the end of a leadership.

use super::fixture::{Cluster, PATIENCE, id};
use crate::{
    forward::wire::{ToLeader, ToServing},
    node::ShardNotice,
    shard::{PeerId, ShardEvent},
};

const PINGS: usize = 2_000;
const AT_A_TIME: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_looks_at_its_term_after_a_serving_node_has_asked() {
    let mut cluster = Cluster::new();
    cluster.members = &["a"];
    cluster.start(0).await;
    cluster.all_lead().await;
    let (running, clock) = (cluster.node(0), cluster.clock);
    let epoch = running.fences[&id(0)].epoch;
    let handle = &running.node.shards()[0];
    let says = |message| handle.event(ShardEvent::PeerMessage(PeerId(9), message));
    let ping = || ToLeader::Ping {
        sent: clock.now().monotonic,
        last_copy: 0,
    };
    says(ToLeader::Begin {
        epoch,
        node: "b".into(),
        sent: clock.now().monotonic,
        last_copy: None,
    });
    let notices = running.notices.as_ref().expect("it is heard");
    let (mut sent, mut answered) = (0, 0);
    'all: while answered < PINGS {
        // Some come while the thread of the shard is at work on others.
        while sent < PINGS.min(answered + AT_A_TIME) {
            says(ping());
            sent += 1;
        }
        let ShardNotice::Peers(answers) = notices.recv_timeout(PATIENCE).expect("it answers").1
        else {
            continue;
        };
        for (_, answer) in answers {
            match answer {
                ToServing::Granted { grant: holds, .. } => {
                    assert!(
                        holds.at >= holds.asked_at,
                        "{holds:?} after {answered} others"
                    );
                    answered += 1;
                }
                ToServing::Accepted { .. } => {}
                // Its term has ended: the machine is busy.
                _ => break 'all,
            }
        }
    }
    assert!(answered > 0, "the test is of no use");
}
