//! Signals of the operating system: shutdown and reload.

use std::sync::Arc;

use tokio::sync::watch;

use super::{CommandError, service_manager::ServiceManager};
use hyper_delay_config::{Config, Overrides};
use hyper_delay_server::progress::ServerProgress;

/// Resolves at SIGINT or SIGTERM. The call itself installs the handlers, before the future is
/// polled.
#[cfg(unix)]
pub(super) fn shutdown_signal() -> Result<impl Future<Output = ()> + Send, CommandError> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt()).map_err(CommandError::Signal)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(CommandError::Signal)?;
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
pub(super) fn shutdown_signal() -> Result<impl Future<Output = ()> + Send, CommandError> {
    Ok(async {
        // If Ctrl-C cannot be caught, the process can only be killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        tracing::info!("shutting down");
    })
}

/// Reloads the configuration.
#[cfg_attr(not(unix), allow(dead_code, reason = "there is no SIGHUP"))]
pub(super) struct ConfigReloader {
    /// The flags of the command line, which keep their values.
    pub(super) flags: Overrides,
    pub(super) configs: watch::Sender<Config>,
    pub(super) progress: Arc<ServerProgress>,
    pub(super) manager: Arc<ServiceManager>,
}

/// Reloads the configuration at each SIGHUP and sends it if it is valid. The call itself installs
/// the handler; the future never resolves.
#[cfg(unix)]
pub(super) fn reload(
    reloader: ConfigReloader,
) -> Result<impl Future<Output = ()> + Send, CommandError> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut hangup = signal(SignalKind::hangup()).map_err(CommandError::Signal)?;
    Ok(async move {
        while hangup.recv().await.is_some() {
            reloader.reload().await;
        }
    })
}

#[cfg(unix)]
impl ConfigReloader {
    /// Before the server listens, it takes the new configuration at its start, and the service
    /// manager still waits for that.
    async fn reload(&self) {
        let is_listening = self.progress.is_listening();
        if is_listening {
            self.manager.reloading();
        }
        let mut reloads = self.progress.reloads();
        match self.flags.load() {
            Ok(loaded) => {
                tracing::info!(signal = "SIGHUP", configuration = %loaded, "reloading");
                self.configs.send_replace(loaded.config);
                if is_listening {
                    let _ = reloads.changed().await;
                }
            }
            Err(error) => tracing::error!(
                signal = "SIGHUP",
                %error,
                "the configuration was not reloaded: the old one stays in force"
            ),
        }
        if is_listening {
            self.manager.ready();
        }
    }
}

/// Does nothing: this platform has no SIGHUP.
#[cfg(not(unix))]
pub(super) fn reload(
    reloader: ConfigReloader,
) -> Result<impl Future<Output = ()> + Send, CommandError> {
    Ok(async move {
        reloader.configs.closed().await;
    })
}
