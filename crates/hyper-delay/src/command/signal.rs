//! Signals of the operating system: shut down, reload.

use hyper_delay::config::Config;
use tokio::sync::watch;

use super::Failure;

/// Resolves at SIGINT or SIGTERM. They are caught from the call on, not only once it is awaited.
#[cfg(unix)]
pub(super) fn end() -> Result<impl Future<Output = ()> + Send, Failure> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::Signal)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::Signal)?;
    Ok(async move {
        let name = tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        };
        tracing::info!(signal = name, "asked to end");
    })
}

/// Resolves at Ctrl-C.
#[cfg(not(unix))]
pub(super) fn end() -> Result<impl Future<Output = ()> + Send, Failure> {
    Ok(async {
        // Without signals the process can only be killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        tracing::info!("asked to end");
    })
}

/// Loads the configuration again at each SIGHUP, and sends it if it can be used. SIGHUP is caught
/// from the call on; the future never resolves.
#[cfg(unix)]
pub(super) fn reload(
    configs: watch::Sender<Config>,
) -> Result<impl Future<Output = ()> + Send, Failure> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut hangup = signal(SignalKind::hangup()).map_err(Failure::Signal)?;
    Ok(async move {
        while hangup.recv().await.is_some() {
            match Config::load() {
                Ok(loaded) => {
                    tracing::info!(signal = "SIGHUP", configuration = %loaded.source, "reloading");
                    configs.send_replace(loaded.config);
                }
                Err(error) => tracing::error!(
                    signal = "SIGHUP",
                    %error,
                    "the configuration was not reloaded: the one in force stays"
                ),
            }
        }
    })
}

/// Does nothing without signals.
#[cfg(not(unix))]
pub(super) fn reload(
    configs: watch::Sender<Config>,
) -> Result<impl Future<Output = ()> + Send, Failure> {
    Ok(async move {
        configs.closed().await;
    })
}
