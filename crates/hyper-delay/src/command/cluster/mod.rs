//! Looking after a cluster. Needs the feature `cluster`.

mod import;
mod join;
mod remove;
mod status;
mod table;

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::{CommandError, log};
use hyper_delay_cluster::{admin::Admin, log::etcd::Etcd, setup};
use hyper_delay_config::{self, Config, LogFormat, Overrides};

/// Make a cluster, add and remove its nodes, and look at it.
///
/// All of them read `cluster` in the configuration and ask etcd. The nodes may run, except for
/// import.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay cluster join --config /etc/hyper-delay.json
  hyper-delay cluster status --config /etc/hyper-delay.json
  hyper-delay cluster remove b --config /etc/hyper-delay.json
  hyper-delay cluster import --from data/db --config /etc/hyper-delay.json")]
pub(super) struct Cluster {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    Join(join::Join),
    Remove(remove::Remove),
    Status(status::Status),
    Import(import::Import),
}

/// Where the configuration is.
#[derive(Debug, Args)]
struct ConfigArg {
    /// Read this configuration file, which must exist.
    ///
    /// Default: the file that HYPER_DELAY_CONFIG names, or ./config.json.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A request to etcd is given up after a quarter of it: people can wait longer than leases.
const PATIENCE: Duration = Duration::from_secs(20);

/// A configuration with a cluster.
struct OpenedCluster {
    config: Config,
    cluster: hyper_delay_config::Cluster,
    /// An operator's view of the cluster.
    admin: Admin<Etcd>,
}

impl ConfigArg {
    fn open(self) -> Result<OpenedCluster, CommandError> {
        let flags = Overrides {
            file: self.config,
            ..Overrides::default()
        };
        let loaded = flags.load()?;
        let configuration = loaded.to_string();
        let config = loaded.config;
        let Some(cluster) = config.cluster.clone() else {
            return Err(CommandError::NotInCluster { configuration });
        };
        let mut etcd = setup::etcd_config(&cluster)?;
        etcd.lease = etcd.lease.max(PATIENCE);
        let admin = Admin::new(Etcd::new(&etcd)?);
        Ok(OpenedCluster {
            config,
            cluster,
            admin,
        })
    }
}

impl Cluster {
    /// Whether a broken pipe is harmless.
    pub(super) const fn is_for_reading(&self) -> bool {
        matches!(self.command, ClusterCommand::Status(_))
    }

    pub(super) fn run(self) -> Result<(), CommandError> {
        // The error of the command has what the log would warn of.
        log::start(log::SILENT, LogFormat::Text);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(CommandError::Runtime)?;
        runtime.block_on(async {
            match self.command {
                ClusterCommand::Join(join) => join.run().await,
                ClusterCommand::Remove(remove) => remove.run().await,
                ClusterCommand::Status(status) => status.run().await,
                ClusterCommand::Import(import) => import.run().await,
            }
        })
    }
}
