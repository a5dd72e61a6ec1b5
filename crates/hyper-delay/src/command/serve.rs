use std::{net::SocketAddr, path::PathBuf, path::absolute, sync::Arc};

use clap::Args;
use tokio::{net::TcpListener, sync::watch};

use super::{
    CommandError, log, open_files_limit,
    output::{print_lines, report},
    service_manager::ServiceManager,
    signal::{self, ConfigReloader},
};
use crate::run::run_with_progress;
#[cfg(feature = "cluster")]
use hyper_delay_cluster::{
    link::tls::LinkTls,
    setup::{etcd_config, link_files},
};
#[cfg(feature = "cluster")]
use hyper_delay_config::Cluster;
use hyper_delay_config::{Config, Loaded, LogFormat, Overrides, parse_address};
#[cfg(feature = "cluster")]
use hyper_delay_server::ServeError;
use hyper_delay_server::{ServeOptions, progress::ServerProgress, reload};

/// Threads that read the disk for `stats` and `dead`. Each may hold an open file.
const BLOCKING_THREADS: usize = 8;

/// Serve until SIGTERM or SIGINT. The default.
///
/// Without --config, the environment variable HYPER_DELAY_CONFIG names the configuration file.
/// Default: ./config.json if it exists. SIGHUP reloads it. A flag takes precedence over the
/// environment, and that over the file. RUST_LOG filters the log on standard error; RUST_LOG=debug
/// logs more.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay serve --config /etc/hyper-delay.json")]
pub(super) struct Serve {
    /// Read this configuration file, which must exist.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Listen on this address and port instead of bind_addr.
    ///
    /// The environment variable is HYPER_DELAY_BIND_ADDR.
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    bind: Option<SocketAddr>,
    /// Keep the tasks in this folder instead of data_dir.
    ///
    /// The environment variable is HYPER_DELAY_DATA_DIR.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Check the configuration and the files of TLS and tokens, print the configuration in force,
    /// and exit.
    #[arg(long)]
    check_config: bool,
    /// Start with what is left if acknowledged data is missing from the store.
    ///
    /// First run `hyper-delay verify` and `hyper-delay repair`, which can save more. Files that
    /// cannot be used are moved to a folder beside the store.
    #[arg(long)]
    accept_loss: bool,
}

/// Reads the files of a node of a cluster, as its start does.
#[cfg(feature = "cluster")]
fn check_cluster(cluster: &Cluster) -> Result<(), CommandError> {
    if let Some(files) = link_files(cluster) {
        let tls = LinkTls::load(&files).map_err(ServeError::from)?;
        if let Some(trouble) = tls.trouble(&cluster.advertise) {
            report(&format!("warning: {trouble}"))?;
        }
    }
    etcd_config(cluster)?.connections()?;
    Ok(())
}

impl Serve {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let flags = Overrides {
            file: self.config,
            bind_addr: self.bind,
            data_dir: self.data_dir,
        };
        let loaded = flags.load()?;
        if self.check_config {
            let security = reload::load(&loaded.config, loaded.config.bind_addr)?;
            if let Some(trouble) = security.certificate_problem() {
                report(&format!("warning: {trouble}"))?;
            }
            #[cfg(feature = "cluster")]
            if let Some(cluster) = &loaded.config.cluster {
                check_cluster(cluster)?;
            }
            report(&format!("from {loaded}:"))?;
            return print_lines(&loaded.config.to_string());
        }
        let format = loaded.config.log_format;
        log::start(log::SERVER, format);
        let options = ServeOptions::default().accept_loss(self.accept_loss);
        start(loaded, flags, options).map_err(|failure| match format {
            LogFormat::Text => failure,
            LogFormat::Json => log_failure(failure),
        })
    }
}

/// Logs the error on which the server ends, unless the filter leaves out all errors.
fn log_failure(failure: CommandError) -> CommandError {
    if !tracing::enabled!(tracing::Level::ERROR) {
        return failure;
    }
    tracing::error!(error = %failure.message(), "the server ends");
    CommandError::Logged(Box::new(failure))
}

fn start(loaded: Loaded, flags: Overrides, options: ServeOptions) -> Result<(), CommandError> {
    let config = &loaded.config;
    let data_dir = absolute(&config.data_dir).unwrap_or_else(|_| config.data_dir.clone());
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        configuration = %loaded,
        data_dir = %data_dir.display(),
        bind_addr = %config.bind_addr,
        sync = %config.sync,
        tls = config.tls.is_some(),
        tokens = config.tokens.is_some(),
        "starting"
    );
    open_files_limit::raise();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()
        .map_err(CommandError::Runtime)?;
    runtime.block_on(serve(loaded.config, flags, options))
}

async fn serve(
    config: Config,
    flags: Overrides,
    options: ServeOptions,
) -> Result<(), CommandError> {
    let manager = Arc::new(ServiceManager::of_environment());
    let progress = Arc::new(ServerProgress::default());
    let end = signal::shutdown_signal()?;
    let end = async {
        end.await;
        manager.stopping();
    };
    let (address, http) = (config.bind_addr, config.http_addr);
    let (configs, received) = watch::channel(config);
    let reload = signal::reload(ConfigReloader {
        flags,
        configs,
        progress: progress.clone(),
        manager: manager.clone(),
    })?;
    let listener = listen("bind_addr", address).await?;
    let options = match http {
        Some(address) => options.http(listen("http_addr", address).await?),
        None => options,
    };
    let reloading = tokio::spawn(reload);
    let notifying = tokio::spawn(notify_service_manager(manager.clone(), progress.clone()));
    let ended = run_with_progress(listener, received, options, progress, end).await;
    reloading.abort();
    notifying.abort();
    manager.finish();
    ended?;
    tracing::info!("ended");
    Ok(())
}

/// Tells the service manager that the server listens, and then that its threads make progress.
async fn notify_service_manager(manager: Arc<ServiceManager>, progress: Arc<ServerProgress>) {
    progress.listening().await;
    manager.ready();
    manager.watch(&progress).await;
}

async fn listen(field: &'static str, address: SocketAddr) -> Result<TcpListener, CommandError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|source| CommandError::Bind {
        field,
        address,
        source,
    })
}
