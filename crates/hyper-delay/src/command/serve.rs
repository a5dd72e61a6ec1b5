use clap::Args;
use hyper_delay::config::{Config, Loaded};
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
        runtime.block_on(serve(config))
    }
}

async fn serve(config: Config) -> Result<(), Failure> {
    let end = signal::end()?;
    let address = config.bind_addr;
    let failed = |source| Failure::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    hyper_delay::run(listener, config, end).await?;
    tracing::info!("ended: all that was acknowledged is on disk");
    Ok(())
}
