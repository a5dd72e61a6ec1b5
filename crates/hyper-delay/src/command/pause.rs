use clap::Args;

use super::{CommandError, output::print, remote::Remote};

/// Pause a route: deliver none of its tasks until it is resumed, even after a restart.
///
/// Deliveries in flight continue. Tasks that come due are parked.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay pause service-A")]
pub(super) struct Pause {
    /// The route.
    route: String,
    #[command(flatten)]
    remote: Remote,
}

impl Pause {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let client = self.remote.connect().await?;
        let route = self.route;
        match client.pause(&route).await? {
            true => print(&format!("{route} is paused")),
            false => print(&format!("{route} was paused already")),
        }
    }
}

/// Resume a paused route: deliver its tasks again, in order of time.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay resume service-A")]
pub(super) struct Resume {
    /// The route.
    route: String,
    #[command(flatten)]
    remote: Remote,
}

impl Resume {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let client = self.remote.connect().await?;
        let route = self.route;
        match client.resume(&route).await? {
            true => print(&format!("{route} is resumed")),
            false => print(&format!("{route} was not paused")),
        }
    }
}
