//! Logs, to standard error.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

/// What the server logs, if `RUST_LOG` says nothing.
pub(super) const SERVER: &str = "info,fjall=warn,lsm_tree=warn";

/// What the other commands log: a connection that is lost.
pub(super) const CLIENT: &str = "warn";

/// Logs what `RUST_LOG` says, or else `default`.
pub(super) fn start(default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .init();
}
