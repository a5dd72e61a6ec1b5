//! Looking after a cluster. Needs the feature `cluster`.

mod join;
mod remove;
mod status;
mod table;

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::{Failure, log};
use crate::{
    cluster::{admin::Admin, log::etcd::Etcd},
    config::{self, LogFormat, Overrides},
};

/// Make a cluster, add and remove its nodes, and look at it.
///
/// All of them read `cluster` in the configuration and ask etcd. The nodes may run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay cluster join --config /etc/hyper-delay.json
  hyper-delay cluster status --config /etc/hyper-delay.json
  hyper-delay cluster remove b --config /etc/hyper-delay.json")]
pub(super) struct Cluster {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    Join(join::Join),
    Remove(remove::Remove),
    Status(status::Status),
}

/// Where the configuration is.
#[derive(Debug, Args)]
struct At {
    /// Read this configuration file, which must exist.
    ///
    /// Default: the file that HYPER_DELAY_CONFIG names, or ./config.json.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A request to etcd is given up after a quarter of it: people can wait longer than leases.
const PATIENCE: Duration = Duration::from_secs(20);

impl At {
    /// Returns the cluster of the configuration, and an operator's view of it.
    fn open(self) -> Result<(config::Cluster, Admin<Etcd>), Failure> {
        let flags = Overrides {
            file: self.config,
            ..Overrides::default()
        };
        let loaded = flags.load()?;
        let configuration = loaded.to_string();
        let Some(cluster) = loaded.config.cluster else {
            return Err(Failure::NotInCluster { configuration });
        };
        let mut config = cluster.etcd_config()?;
        config.lease = config.lease.max(PATIENCE);
        Ok((cluster, Admin::new(Etcd::new(&config)?)))
    }
}

impl Cluster {
    /// Whether nothing is lost if the reader of the output stops before its end.
    pub(super) const fn is_for_reading(&self) -> bool {
        matches!(self.act, Act::Status(_))
    }

    pub(super) fn run(self) -> Result<(), Failure> {
        // The error of the command has what the log would warn of.
        log::start(log::SILENT, LogFormat::Text);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failure::Runtime)?;
        runtime.block_on(async {
            match self.act {
                Act::Join(join) => join.run().await,
                Act::Remove(remove) => remove.run().await,
                Act::Status(status) => status.run().await,
            }
        })
    }
}
