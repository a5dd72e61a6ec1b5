//! Finds the charter and the members of the cluster before the node takes part.

use std::sync::Arc;

use tokio::time::sleep;

use super::{Charter, Log, ServingError, setup};
use crate::log::{LogAnswer, LogRequest, Member, UnansweredReason};
use hyper_delay_config::Cluster;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::serve::enlist";

/// Returns the cluster and its nodes. Waits until the log answers.
///
/// # Errors
///
/// If there is no cluster, it is damaged, or this node is not one of it.
pub(super) async fn discover(
    log: &impl Log,
    cluster: &Cluster,
) -> Result<(Charter, Arc<[Member]>), ServingError> {
    let charter = match ask(log, cluster, LogRequest::Charter).await? {
        LogAnswer::Charter(Some(charter)) => charter,
        _ => return Err(ServingError::NoCluster),
    };
    let node = setup::member(cluster).node;
    let LogAnswer::Members(members) = ask(log, cluster, LogRequest::Members).await? else {
        return Err(ServingError::NoCluster);
    };
    let members: Arc<[Member]> = members.into_iter().map(|it| it.member).collect();
    match members.iter().any(|it| it.node == node) {
        true => Ok((charter, members)),
        false => Err(ServingError::NoMember {
            node: cluster.node.clone(),
        }),
    }
}

async fn ask(
    log: &impl Log,
    cluster: &Cluster,
    request: LogRequest,
) -> Result<LogAnswer, ServingError> {
    let mut is_logged = false;
    loop {
        match log.call(request.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(error) if matches!(error.0, UnansweredReason::Damage(_)) => {
                return Err(ServingError::Damage(error));
            }
            Err(error) => {
                if !std::mem::replace(&mut is_logged, true) {
                    tracing::warn!(
                        target: TARGET,
                        etcd = %cluster.etcd.join(","),
                        %error,
                        "etcd does not answer: the start waits for it",
                    );
                }
                sleep(cluster.lease() / 4).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::log::{LogEvent, LogUnanswered};
    use hyper_delay_config::Config;

    /// A log with damaged keys.
    struct Damaged;

    impl Log for Damaged {
        async fn call(&self, _: LogRequest) -> Result<LogAnswer, LogUnanswered> {
            Err(LogUnanswered(UnansweredReason::Damage(
                "etcd lacks it".to_owned(),
            )))
        }

        async fn watch(&self, _: impl FnMut(LogEvent) + Send) {}
    }

    #[tokio::test]
    async fn damaged_cluster_ends_the_start() {
        let cluster = json!({"etcd": ["http://x:1"], "node": "a", "advertise": "127.0.0.1:7002"});
        let config = Config::from_json("f", &json!({ "cluster": cluster }).to_string());
        let cluster = config.unwrap().cluster.unwrap();
        let error = discover(&Damaged, &cluster).await.unwrap_err();
        assert_eq!(error.to_string(), "etcd lacks it");
    }
}
