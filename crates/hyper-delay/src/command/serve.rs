use std::sync::Arc;

use clap::Args;
use hyper_delay::{
    ServeError,
    clock::SystemClock,
    config::{Config, Loaded},
    store::{Embedded, OpenOptions},
};
use tokio::net::TcpListener;

use super::{Failure, files, log, remote::print, signal};

/// Serve until SIGTERM or SIGINT. The default.
///
/// HYPER_DELAY_CONFIG names a configuration file; without it ./config.json is read if it is there.
/// RUST_LOG says what is logged to standard error; RUST_LOG=debug is more.
#[derive(Debug, Args)]
#[command(after_help = "Example: HYPER_DELAY_CONFIG=/etc/hyper-delay.json hyper-delay serve")]
pub(super) struct Serve {
    /// Only print the configuration that is in force.
    #[arg(long)]
    check_config: bool,
    /// Start with what is left if acknowledged data is missing from the store.
    ///
    /// First run `hyper-delay verify` and `hyper-delay repair`, which can save more. What cannot be
    /// used moves to a folder beside the store.
    #[arg(long)]
    accept_loss: bool,
}

impl Serve {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Loaded { config, source } = Config::load()?;
        if self.check_config {
            eprintln!("from {source}:");
            return print(&config.to_string());
        }
        log::start(log::SERVER);
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            configuration = %source,
            data_dir = %config.data_dir.display(),
            bind_addr = %config.bind_addr,
            sync = %config.sync,
            "starting"
        );
        files::raise_limit(config.max_connections);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(Failure::Runtime)?;
        let options = OpenOptions {
            accept_loss: self.accept_loss,
        };
        runtime.block_on(serve(config, options))
    }
}

async fn serve(config: Config, options: OpenOptions) -> Result<(), Failure> {
    let end = signal::end()?;
    let address = config.bind_addr;
    let failed = |source| Failure::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let directory = config.data_dir.clone();
    let opening = tokio::task::spawn_blocking(move || Embedded::open_with(&directory, options));
    let store = match opening.await {
        Ok(opened) => opened.map_err(ServeError::from)?,
        Err(_) => return Err(ServeError::Panicked("that opens the store").into()),
    };
    let clock = Arc::new(SystemClock::new());
    hyper_delay::run_with(listener, config, Arc::new(store), clock, end).await?;
    tracing::info!("ended: all that was acknowledged is on disk");
    Ok(())
}
