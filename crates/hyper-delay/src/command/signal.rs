//! Signals of the operating system: shutdown and reload.

use tokio::sync::watch;

use super::Failure;
use crate::config::Config;

/// Resolves at SIGINT or SIGTERM. The call itself installs the handlers, before the future is
/// polled.
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
        tracing::info!(signal = name, "shutting down");
    })
}

/// Resolves at Ctrl-C.
#[cfg(not(unix))]
pub(super) fn end() -> Result<impl Future<Output = ()> + Send, Failure> {
    Ok(async {
        // If Ctrl-C cannot be caught, the process can only be killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        tracing::info!("shutting down");
    })
}

/// Reloads the configuration at each SIGHUP and sends it if it is valid. The call itself installs
/// the handler; the future never resolves.
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
                    "the configuration was not reloaded: the old one stays in force"
                ),
            }
        }
    })
}

/// Does nothing: this platform has no SIGHUP.
#[cfg(not(unix))]
pub(super) fn reload(
    configs: watch::Sender<Config>,
) -> Result<impl Future<Output = ()> + Send, Failure> {
    Ok(async move {
        configs.closed().await;
    })
}
