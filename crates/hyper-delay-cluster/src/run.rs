//! The server as a node of a cluster.

mod runtime;

use std::{
    pin::pin,
    sync::{Arc, mpsc},
};

use crate::{
    log::Log,
    serving_node::{ForwarderMessage, ServingError, ServingNode, ServingNodeSetup},
};
use hyper_delay_config::Cluster;
#[cfg(feature = "etcd")]
use hyper_delay_config::Config;
use hyper_delay_engine::sizes::Sizes;
use hyper_delay_server::{
    AbandonGuard, ServeError,
    driver::EventSender,
    freshness::Freshness,
    frontend::{Backend, Frontend, ServerThreads},
    replica_events::ReplicaEventSender,
};
use runtime::NodeRuntime;

#[cfg(feature = "etcd")]
use {
    hyper_delay_server::{ServeOptions, progress::ServerProgress, start_http},
    tokio::{net::TcpListener, sync::watch},
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::server::node";

/// A server could not take part in its cluster, or a thread of it has ended.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ClusterError(#[from] ClusterErrorKind);

#[derive(Debug, thiserror::Error)]
enum ClusterErrorKind {
    #[error(transparent)]
    Serving(#[from] ServingError),
    #[cfg(feature = "etcd")]
    #[error(
        "--accept-loss is for a server without cluster: a node takes what it lacks from the others"
    )]
    AcceptLoss,
    #[cfg(feature = "etcd")]
    #[error("cluster.etcd_user: {0}")]
    Password(#[from] crate::setup::PasswordError),
    #[cfg(feature = "etcd")]
    #[error("cluster.etcd: {0}")]
    Etcd(#[from] crate::log::etcd::config::EtcdConfigError),
}

impl From<ClusterError> for ServeError {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(Box::new(error))
    }
}

/// The parameters of [`run`].
#[cfg(feature = "etcd")]
#[derive(Debug)]
pub struct ServerSetup {
    /// Accepts the connections of clients.
    pub listener: TcpListener,
    /// The configuration, and those that replace it later.
    pub configs: watch::Receiver<Config>,
    /// What is not in the configuration.
    pub options: ServeOptions,
    /// Notes what the server has reached.
    pub progress: Arc<ServerProgress>,
}

/// Serves connections of a listener as a node of a cluster in etcd, until `shutdown` resolves.
///
/// # Errors
///
/// Those of `hyper_delay::run`, or if the node cannot take part in its cluster.
#[cfg(feature = "etcd")]
pub async fn run(
    setup: ServerSetup,
    cluster: &Cluster,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let ServerSetup {
        listener,
        configs,
        options,
        progress,
    } = setup;
    let options = options.into_parts();
    let http = start_http(&listener, &configs, options.http)?;
    let frontend = Frontend::prepare(listener, configs, http, progress).await?;
    if options.accept_loss {
        return Err(ClusterError(ClusterErrorKind::AcceptLoss).into());
    }
    let log = connect(cluster).map_err(ClusterError)?;
    serve_with(frontend, cluster, Arc::new(log), options.sizes, shutdown).await
}

#[cfg(feature = "etcd")]
fn connect(cluster: &Cluster) -> Result<crate::log::etcd::Etcd, ClusterErrorKind> {
    Ok(crate::log::etcd::Etcd::new(&crate::setup::etcd_config(
        cluster,
    )?)?)
}

/// Serves as a node of the cluster that `log` has.
async fn serve_with(
    frontend: Frontend,
    cluster: &Cluster,
    log: Arc<impl Log>,
    sizes: Sizes,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (messages, inbox) = mpsc::channel();
    let events = EventSender::new(messages.clone(), ForwarderMessage::Event);
    let replicas = ReplicaEventSender::new(messages.clone(), ForwarderMessage::Replica);
    let _guard = AbandonGuard(events.clone());
    let mut shutdown = pin!(shutdown);
    let runtime = NodeRuntime::start()?;
    let setup = ServingNodeSetup {
        config: frontend.config.clone(),
        cluster: cluster.clone(),
        messages,
        inbox,
        clock: frontend.clock,
        pulses: frontend.progress.pulses.clone(),
        sizes,
    };
    let starting = ServingNode::start(log, setup);
    let started = tokio::select! {
        started = runtime.run(starting) => started,
        () = &mut shutdown => {
            tracing::info!(target: TARGET, "stopping before the node takes part in its cluster");
            return Ok(());
        }
    };
    let (serving, handles) = started.map_err(failed)?;
    let backend = Backend {
        gauges: handles.gauges(),
        store: handles.store,
        metrics: handles.metrics,
        freshness: Freshness::of_replicas(replicas),
    };
    let threads = NodeThreads {
        serving: Some(serving),
        runtime,
    };
    frontend.serve(events, backend, threads, shutdown).await
}

/// The threads of a node.
struct NodeThreads {
    /// `None`: it is stopped.
    serving: Option<ServingNode>,
    /// Dropped last: it runs the tasks of the node.
    runtime: NodeRuntime,
}

impl ServerThreads for NodeThreads {
    const ENDED: &'static str = "everything acknowledged is in etcd";

    async fn ended(&mut self) -> Result<(), ServeError> {
        match &mut self.serving {
            Some(serving) => Err(failed(serving.ended().await)),
            None => std::future::pending().await,
        }
    }

    async fn drained(&mut self) -> Result<(), ServeError> {
        match self.serving.take() {
            Some(serving) => serving.stop().await.map_err(failed),
            None => Ok(()),
        }
    }

    async fn finish(self) -> Result<(), ServeError> {
        // Its tasks are aborted, and have the stores until they have ended.
        self.runtime.end().await;
        Ok(())
    }
}

fn failed(error: ServingError) -> ServeError {
    ClusterError(error.into()).into()
}

#[cfg(test)]
mod tests;
