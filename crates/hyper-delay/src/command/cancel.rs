use clap::Args;

use super::{CommandError, output::print, remote::Remote};

/// Remove a task in any state; fail if it does not exist.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay cancel service-A order-17")]
pub(super) struct Cancel {
    /// The route of the task.
    route: String,
    /// The id of the task on the route.
    id: String,
    #[command(flatten)]
    remote: Remote,
}

impl Cancel {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let Self { route, id, remote } = self;
        let cancelled = remote.connect().await?.cancel(&route, &id).await?;
        if !cancelled.found {
            return Err(CommandError::NoTask { route, id });
        }
        print(&format!(
            "{id} on {route} is cancelled{}",
            if cancelled.in_flight {
                "; it is in flight, and the consumer's ack will have no effect"
            } else {
                ""
            }
        ))
    }
}
