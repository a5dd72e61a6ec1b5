//! What a node finds out about its cluster before it takes part.

use std::sync::Arc;

use tokio::time::sleep;

use super::{Charter, Log, ServingError};
use crate::{
    cluster::log::{Answer, Member, Request},
    config::Cluster,
};

/// Returns the cluster and its nodes. Waits until the log answers.
///
/// # Errors
///
/// If there is no cluster, or this node is not one of it.
pub(super) async fn enlist(
    log: &impl Log,
    cluster: &Cluster,
) -> Result<(Charter, Arc<[Member]>), ServingError> {
    let charter = match ask(log, cluster, Request::Charter).await {
        Answer::Charter(Some(charter)) => charter,
        _ => return Err(ServingError::NoCluster),
    };
    let node = cluster.member().node;
    let Answer::Members(members) = ask(log, cluster, Request::Members).await else {
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

async fn ask(log: &impl Log, cluster: &Cluster, request: Request) -> Answer {
    let mut is_told = false;
    loop {
        match log.call(request.clone()).await {
            Ok(answer) => return answer,
            Err(error) => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::warn!(
                        etcd = %cluster.etcd.join(","),
                        %error,
                        "etcd does not answer: the start waits for it"
                    );
                }
                sleep(cluster.lease() / 4).await;
            }
        }
    }
}
