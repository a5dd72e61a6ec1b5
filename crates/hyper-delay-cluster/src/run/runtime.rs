//! The runtime of a node.

use std::{io, panic, time::Duration};

use tokio::{
    runtime::{Builder, Runtime},
    task::{JoinSet, spawn_blocking},
};

/// The end of a node waits no longer for its runtime.
const ENDING: Duration = Duration::from_secs(5);

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

    /// Ends the tasks, and waits until they have ended, for at most 5 seconds.
    pub(super) async fn end(mut self) {
        let runtime = self.runtime.take().expect("it ends once");
        // To wait for its threads would block the runtime of the server.
        let ending = spawn_blocking(move || runtime.shutdown_timeout(ENDING));
        ending
            .await
            .expect("shutting a runtime down does not panic");
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
        // As in `end`, which nothing waits for here.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
