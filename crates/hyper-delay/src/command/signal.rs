//! The end, as the system asks for it.

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
        // Without signals there is no asking it to end.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        tracing::info!("asked to end");
    })
}
