//! A server in this process, with its configuration and its result as values.

use std::{net::SocketAddr, sync::mpsc, thread};

use hyper_delay::{ServeError, config::Config};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Peer;
use tokio::{net::TcpListener, runtime, sync::oneshot};

/// A server on a free port, with a directory of its own.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    running: Option<Running>,
    data: TempDir,
}

struct Running {
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<Result<(), ServeError>>,
}

impl Server {
    /// Starts a server with this configuration. Default for `sync`: never.
    pub(crate) fn start(config: Value) -> Self {
        let data = tempfile::tempdir().expect("there is room for a folder");
        Self::start_in(data, config)
    }

    fn start_in(data: TempDir, mut config: Value) -> Self {
        let fields = config
            .as_object_mut()
            .expect("the configuration is an object");
        fields.entry("sync").or_insert(json!("never"));
        fields.insert("data_dir".into(), json!(data.path()));
        let config = Config::from_json("test", &config.to_string()).expect("it is valid");
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("there is room for threads");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                let _ = tell.send(listener.local_addr()?);
                let stopped = async {
                    let _ = stopped.await;
                };
                hyper_delay::run(listener, config, stopped).await
            })
        });
        Self {
            address: told.recv().expect("it listens"),
            running: Some(Running { stop, thread }),
            data,
        }
    }

    /// A new connection.
    pub(crate) fn peer(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// A new connection that has registered a route.
    pub(crate) fn consumer(&self, route: &str) -> Peer {
        let mut peer = self.peer();
        peer.register(route);
        peer
    }

    /// Tells the server to shut down. The thread returns after the shutdown.
    pub(crate) fn ask_to_stop(&mut self) -> thread::JoinHandle<Result<(), ServeError>> {
        let running = self.running.take().expect("it runs");
        let _ = running.stop.send(());
        running.thread
    }

    /// Shuts the server down, and starts another one on its data.
    pub(crate) fn restart(mut self, config: Value) -> Self {
        let ended = self.ask_to_stop().join().expect("it does not panic");
        ended.expect("it ends in order");
        self.again(config)
    }

    /// Starts another server on the data of this stopped one.
    pub(crate) fn again(mut self, config: Value) -> Self {
        let data = std::mem::replace(
            &mut self.data,
            tempfile::tempdir().expect("there is room for a folder"),
        );
        Self::start_in(data, config)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(Running { stop, thread }) = self.running.take() {
            let _ = stop.send(());
            let ended = thread.join();
            if !thread::panicking() {
                ended.expect("it does not panic").expect("it ends in order");
            }
        }
    }
}
