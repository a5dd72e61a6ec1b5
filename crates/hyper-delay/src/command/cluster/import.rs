use std::path::{Path, PathBuf};

use clap::Args;

use super::{
    super::{
        CommandError,
        output::{print, report, write_report},
    },
    ConfigArg, OpenedCluster,
};
use hyper_delay_archive::salvage::{self, SalvageError};
use hyper_delay_cluster::{admin::AdminError, import::ClusterImport, setup};

/// Take the tasks of a stopped server into a new cluster.
///
/// The store is checked first, and its tasks stay in it. They are split into the stores of the
/// shards in the data_dir of the configuration, which must be new or empty. The node must be a
/// member, no node may run, and the cluster must never have had a task. Then start this node first:
/// the others get the tasks from it. If it is interrupted, run it again.
///
/// Bulk operations that were running are stopped. It takes 16 bytes of memory for each task.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  hyper-delay cluster import --from data/db --config /etc/hyper-delay.json")]
pub(super) struct Import {
    /// The data_dir of the stopped server.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    #[command(flatten)]
    at: ConfigArg,
}

impl Import {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let OpenedCluster {
            config,
            cluster,
            admin,
        } = self.at.open()?;
        if !self.from.is_dir() {
            return Err(CommandError::NothingToImport(self.from));
        }
        let member = setup::member(&cluster);
        admin.check_can_import(&member).await?;
        let charter = admin.cluster().await?;
        verify(&self.from)?;
        let importing = ClusterImport::begin(&config.data_dir, charter)?;
        let imported = importing.split(&self.from)?;
        for folder in importing.folders() {
            verify(&folder)?;
        }
        if let Err(refused) = admin.check_journals(&imported.journal_starts).await {
            if let AdminError::InUse { .. } = refused {
                importing.discard()?;
            }
            return Err(refused.into());
        }
        admin
            .start_journals(&member, &imported.journal_starts)
            .await?;
        importing.finish()?;
        print(&format!(
            "imported {imported}, into {} shards in {}",
            charter.shards,
            config.data_dir.display()
        ))?;
        report(&format!(
            "start node {} first; the others get the tasks from it",
            member.node
        ))
    }
}

/// Refuses a store that is damaged.
fn verify(directory: &Path) -> Result<(), CommandError> {
    let verified = salvage::verify(directory, &mut |line| write_report(line));
    let verified = verified.map_err(|error| match error {
        SalvageError::Output(error) => CommandError::Report(error),
        error => error.into(),
    })?;
    match verified.findings {
        0 => Ok(()),
        findings => Err(CommandError::Damaged {
            directory: directory.to_owned(),
            findings,
            tasks: verified.tasks,
        }),
    }
}
