//! The address of this node, as the cluster knows it.

use std::time::Duration;

use tokio::{sync::watch, time::sleep};

use crate::log::{Log, LogAnswer, LogRequest, LogUnanswered, Member};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::node::address";

/// Makes the address of this node known, if the cluster knows another one. Cancel safe.
///
/// Waits for the first term, which `is_node` tells: another process may have the configuration or
/// the data directory of this node by mistake, and only the one that has the lease is the node.
pub(super) async fn announce(
    log: &impl Log,
    own: &Member,
    mut is_node: watch::Receiver<bool>,
    pause: Duration,
) {
    if is_node.wait_for(|it| *it).await.is_err() {
        return;
    }
    while let Err(error) = compare(log, own).await {
        tracing::debug!(target: TARGET, %error, "the address of this node may not be known yet");
        sleep(pause).await;
    }
}

async fn compare(log: &impl Log, own: &Member) -> Result<(), LogUnanswered> {
    let LogAnswer::Members(members) = log.call(LogRequest::Members).await? else {
        return Ok(());
    };
    let known = members.iter().map(|it| &it.member);
    let mut known = known.filter(|known| known.node == own.node);
    if let Some(known) = known.find(|known| known.address != own.address) {
        tracing::info!(
            target: TARGET,
            before = %known.address,
            now = %own.address,
            "this node has another address, which the other nodes are told",
        );
        log.call(LogRequest::ChangeAddress(own.clone())).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::timeout;

    use super::*;
    use crate::{
        Charter,
        log::{
            LogEvent,
            fake_async::{FakeConnection, SharedLog},
        },
    };

    const PAUSE: Duration = Duration::from_millis(10);

    fn at(address: &str) -> Member {
        Member {
            node: "a".into(),
            address: address.into(),
        }
    }

    fn known(log: &SharedLog) -> Vec<Member> {
        let LogAnswer::Members(members) = log.carry_out(&LogRequest::Members) else {
            panic!("no members");
        };
        members.into_iter().map(|it| it.member).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn address_is_told_after_the_first_term_has_begun() {
        let log = SharedLog::new(Charter {
            cluster: 1,
            shards: 1,
        });
        log.carry_out(&LogRequest::Join(at("a:1")));
        let (connection, own) = (log.connect(PAUSE), at("a:2"));
        let (begin, is_node) = watch::channel(false);
        let telling = announce(&*connection, &own, is_node, PAUSE);
        tokio::pin!(telling);
        timeout(100 * PAUSE, &mut telling).await.unwrap_err();
        assert_eq!(known(&log), [at("a:1")]);
        begin.send_replace(true);
        // What is not answered is said again.
        connection.cut(true);
        timeout(100 * PAUSE, &mut telling).await.unwrap_err();
        connection.cut(false);
        telling.await;
        assert_eq!(known(&log), [at("a:2")]);
    }

    /// A log from which an operator removes the node as soon as it has read the members.
    struct Removing(Arc<SharedLog>, Arc<FakeConnection>);

    impl Log for Removing {
        async fn call(&self, request: LogRequest) -> Result<LogAnswer, LogUnanswered> {
            let answer = self.1.call(request.clone()).await;
            if request == LogRequest::Members {
                self.0.carry_out(&LogRequest::Remove("a".into()));
            }
            answer
        }

        async fn watch(&self, tell: impl FnMut(LogEvent) + Send) {
            self.1.watch(tell).await;
        }
    }

    #[tokio::test]
    async fn node_that_is_removed_while_it_moves_stays_removed() {
        let log = SharedLog::new(Charter {
            cluster: 1,
            shards: 1,
        });
        log.carry_out(&LogRequest::Join(at("a:1")));
        let (_begin, is_node) = watch::channel(true);
        let removing = Removing(log.clone(), log.connect(PAUSE));
        announce(&removing, &at("a:2"), is_node, PAUSE).await;
        assert_eq!(known(&log), []);
    }

    #[tokio::test]
    async fn node_that_is_no_member_does_not_become_one() {
        let log = SharedLog::new(Charter {
            cluster: 1,
            shards: 1,
        });
        let (_begin, is_node) = watch::channel(true);
        announce(&*log.connect(PAUSE), &at("a:1"), is_node, PAUSE).await;
        assert_eq!(known(&log), []);
    }
}
