use std::path::absolute;

use clap::Args;
use tokio::{net::TcpListener, sync::watch};

use super::{Failure, files, log, remote::print, signal};
use crate::{
    ServeOptions,
    config::{Config, Loaded},
    run_reloadable,
};

/// Threads that read the disk for `stats` and `dead`. Each may hold an open file.
const BLOCKING_THREADS: usize = 8;

/// Serve until SIGTERM or SIGINT. The default.
///
/// HYPER_DELAY_CONFIG names the configuration file. Default: ./config.json if it exists. SIGHUP
/// reloads it. RUST_LOG filters the log on standard error; RUST_LOG=debug logs more.
#[derive(Debug, Args)]
#[command(after_help = "Example: HYPER_DELAY_CONFIG=/etc/hyper-delay.json hyper-delay serve")]
pub(super) struct Serve {
    /// Print the effective configuration and exit.
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
        let data_dir = absolute(&config.data_dir).unwrap_or_else(|_| config.data_dir.clone());
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            configuration = %source,
            data_dir = %data_dir.display(),
            bind_addr = %config.bind_addr,
            sync = %config.sync,
            "starting"
        );
        files::raise_limit();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .max_blocking_threads(BLOCKING_THREADS)
            .build()
            .map_err(Failure::Runtime)?;
        let options = ServeOptions::default().accept_loss(self.accept_loss);
        runtime.block_on(serve(config, options))
    }
}

async fn serve(config: Config, options: ServeOptions) -> Result<(), Failure> {
    let end = signal::end()?;
    let address = config.bind_addr;
    let (sender, configs) = watch::channel(config);
    let reload = signal::reload(sender)?;
    let failed = |source| Failure::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let reloading = tokio::spawn(reload);
    let ended = run_reloadable(listener, configs, options, end).await;
    reloading.abort();
    ended?;
    tracing::info!("ended");
    Ok(())
}
