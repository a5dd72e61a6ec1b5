use clap::Args;

use super::{
    super::{
        CommandError,
        output::{print, report},
    },
    ConfigArg, OpenedCluster,
};

/// Make a node no member any more.
///
/// A node that is alive is refused, as is one that has tasks which no other node can get any more.
/// Whether it is alive takes up to its lease to find out. Nothing is lost with it otherwise: what it
/// has acknowledged is in etcd or on other nodes. The last member cannot be removed.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay cluster remove b --config /etc/hyper-delay.json")]
pub(super) struct Remove {
    /// The name of the node.
    node: String,
    /// Remove it also if it is alive, or has tasks that no other node can get: these are lost.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    at: ConfigArg,
}

impl Remove {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let OpenedCluster { admin, .. } = self.at.open()?;
        let left = admin.remove(&self.node, self.force).await?;
        print(&format!(
            "node {} is no member any more; members left: {left}",
            self.node
        ))?;
        report(match self.force {
            true => {
                "if it runs, stop it: it leads nothing any more, but serves clients. Delete its \
                 data_dir before it joins again"
            }
            false => "delete its data_dir before it joins again",
        })
    }
}
