//! What a node finds out about its cluster before it takes part.

use std::sync::Arc;

use tokio::time::sleep;

use super::{Charter, Log, ServingError, setup};
use crate::log::{Answer, Member, Request, Why};
use hyper_delay_config::Cluster;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::serve::enlist";

/// Returns the cluster and its nodes. Waits until the log answers.
///
/// # Errors
///
/// If there is no cluster, it is damaged, or this node is not one of it.
pub(super) async fn enlist(
    log: &impl Log,
    cluster: &Cluster,
) -> Result<(Charter, Arc<[Member]>), ServingError> {
    let charter = match ask(log, cluster, Request::Charter).await? {
        Answer::Charter(Some(charter)) => charter,
        _ => return Err(ServingError::NoCluster),
    };
    let node = setup::member(cluster).node;
    let Answer::Members(members) = ask(log, cluster, Request::Members).await? else {
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

async fn ask(log: &impl Log, cluster: &Cluster, request: Request) -> Result<Answer, ServingError> {
    let mut is_told = false;
    loop {
        match log.call(request.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(error) if matches!(error.0, Why::Damage(_)) => {
                return Err(ServingError::Damage(error));
            }
            Err(error) => {
                if !std::mem::replace(&mut is_told, true) {
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
    use crate::log::{News, Unanswered};
    use hyper_delay_config::Config;

    /// A log with damaged keys.
    struct Damaged;

    impl Log for Damaged {
        async fn call(&self, _: Request) -> Result<Answer, Unanswered> {
            Err(Unanswered(Why::Damage("etcd lacks it".to_owned())))
        }

        async fn watch(&self, _: impl FnMut(News) + Send) {}
    }

    #[tokio::test]
    async fn damaged_cluster_ends_the_start() {
        let cluster = json!({"etcd": ["http://x:1"], "node": "a", "advertise": "127.0.0.1:7002"});
        let config = Config::from_json("f", &json!({ "cluster": cluster }).to_string());
        let cluster = config.unwrap().cluster.unwrap();
        let error = enlist(&Damaged, &cluster).await.unwrap_err();
        assert_eq!(error.to_string(), "etcd lacks it");
    }
}
