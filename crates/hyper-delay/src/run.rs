//! Runs a server: alone, or as a node of a cluster if the configuration says so.

use std::sync::Arc;

use tokio::{net::TcpListener, sync::watch};

use hyper_delay_config::Config;
use hyper_delay_server::{self, ServeError, ServeOptions, progress::ServerProgress};

/// Serves connections of `listener` from the store in `config.data_dir` until `shutdown` resolves.
/// Then it stops accepting and reading, commits and answers what it has read, and returns.
///
/// If `shutdown` resolves before the store is open, this returns at once. The opening continues in
/// its thread, and `config.data_dir` can be used again when it has ended.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use hyper_delay::config::Config;
/// use tokio::net::TcpListener;
///
/// let config = Config::default();
/// let listener = TcpListener::bind(config.bind_addr).await?;
/// let shutdown = async { /* resolves when the server must stop */ };
/// hyper_delay::run(listener, config, shutdown).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// If the limit of open files is too low, the files of TLS or of tokens cannot be used, the
/// configuration does not protect the address of the listener, a thread cannot be started, or the
/// store cannot be opened or fails.
///
/// # Cancel safety
///
/// Dropping the future ends the server as a crash would: what was acknowledged is on disk. Its
/// threads end shortly after, and `config.data_dir` can be used again.
pub async fn run(
    listener: TcpListener,
    config: Config,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (_fixed, configs) = watch::channel(config);
    run_reloadable(listener, configs, ServeOptions::default(), shutdown).await
}

/// Like [`run`], and applies each configuration that is sent to `configs`.
///
/// Fields that need a restart keep their values; the log names them. The limits of a connection
/// apply to connections that are accepted later, all other fields at once. See
/// [`Config::reloaded`]. If the files of [`Config::tls`] or [`Config::tokens`] cannot be used, the
/// old configuration stays in force and the log has the error; files that change later are read
/// again.
///
/// ```no_run
/// # async fn example(listener: tokio::net::TcpListener) -> Result<(), Box<dyn std::error::Error>> {
/// use hyper_delay::config::Config;
/// use tokio::sync::watch;
///
/// let (sender, configs) = watch::channel(Config::default());
/// let options = hyper_delay::ServeOptions::default();
/// let server = hyper_delay::run_reloadable(listener, configs, options, std::future::pending());
/// let server = tokio::spawn(server);
/// sender.send(Config {
///     max_connections: 100,
///     ..Config::default()
/// })?;
/// server.await??;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// As [`run`].
///
/// # Cancel safety
///
/// As [`run`].
pub async fn run_reloadable(
    listener: TcpListener,
    configs: watch::Receiver<Config>,
    options: ServeOptions,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    run_with_progress(listener, configs, options, Arc::default(), shutdown).await
}

/// Like [`run_reloadable`], and updates `progress`.
pub(crate) async fn run_with_progress(
    listener: TcpListener,
    configs: watch::Receiver<Config>,
    options: ServeOptions,
    progress: Arc<ServerProgress>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    #[cfg(feature = "cluster")]
    let cluster = configs.borrow().cluster.clone();
    #[cfg(feature = "cluster")]
    if let Some(cluster) = cluster {
        let setup = hyper_delay_cluster::ServerSetup {
            listener,
            configs,
            options,
            progress,
        };
        return hyper_delay_cluster::run(setup, &cluster, shutdown).await;
    }
    hyper_delay_server::run(listener, configs, options, progress, shutdown).await
}
