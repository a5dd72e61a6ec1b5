//! The runtime of a node.

use std::{io, panic};

use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
};

/// Runs the tasks of a node: its lease, etcd, its links and the syncs of its replicas.
///
/// They are apart from the connections of clients, which read the disk and may occupy all workers
/// and blocking threads of the runtime of the server for longer than a lease: the node would lose
/// its leaderships whenever it has much to do. One worker suffices, as nothing here blocks it. The
/// number of blocking threads has tokio's limit; each shard needs one for its sync, and at times
/// one for a snapshot and one for a store that is removed.
#[derive(Debug)]
pub(super) struct NodeRuntime {
    /// `None`: it has ended.
    runtime: Option<Runtime>,
}

impl NodeRuntime {
    /// Starts its threads.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub(super) fn start() -> io::Result<Self> {
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).thread_name("node").enable_all();
        Ok(Self {
            runtime: Some(runtime.build()?),
        })
    }

    /// Runs a future, and resumes its panic.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, so is the one that runs.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let runtime = self.runtime.as_ref().expect("it ends when it is dropped");
        let mut task = JoinSet::new();
        task.spawn_on(future, runtime.handle());
        match task.join_next().await.expect("there is one task") {
            Ok(output) => output,
            Err(error) => panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Drop for NodeRuntime {
    fn drop(&mut self) {
        // To wait for its threads would block the runtime of the server.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
