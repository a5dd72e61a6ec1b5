use clap::Args;
use hyper_delay_client::RouteStats;

use super::{
    Failure,
    remote::{Remote, print, print_json},
};

/// Print how many tasks there are, by state and by route.
///
/// Waiting are those on disk for a time, with those in flight; parked those that are due and have no consumer with
/// room.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay stats --route service-A")]
pub(super) struct Stats {
    /// Only this route.
    #[arg(long)]
    route: Option<String>,
    /// Print them as JSON, as the protocol has them.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Stats {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let client = self.remote.connect().await?;
        let mut stats = match self.route {
            Some(route) => client.stats().route(route).await?,
            None => client.stats().await?,
        };
        while stats.more {
            let Some(last) = stats.routes.last() else {
                break;
            };
            let next = client.stats().after(last.route.clone()).await?;
            stats.more = next.more && !next.routes.is_empty();
            stats.routes.extend(next.routes);
        }
        if self.json {
            return print_json(&stats);
        }
        print(&format!(
            "waiting {}, parked {}, in flight {}, dead {}; connections {}, unknown acks {}",
            stats.waiting,
            stats.parked,
            stats.in_flight,
            stats.dead,
            stats.connections,
            stats.unknown_acks
        ))?;
        table(&stats.routes)
    }
}

fn table(routes: &[RouteStats]) -> Result<(), Failure> {
    const HEAD: &str = "route";
    let lengths = routes.iter().map(|route| route.route.chars().count());
    let wide = lengths.max().unwrap_or_default().max(HEAD.len());
    let row = |name: &str, cells: [&str; 5]| {
        let cells = cells.map(|cell| format!("{cell:>10}")).concat();
        print(&format!("{name:<wide$}{cells}"))
    };
    if !routes.is_empty() {
        row(
            HEAD,
            ["waiting", "parked", "in flight", "dead", "consumers"],
        )?;
    }
    for route in routes {
        let cells = [
            route.waiting,
            route.parked,
            route.in_flight,
            route.dead,
            route.consumers,
        ];
        let cells = cells.map(|cell| cell.to_string());
        row(&route.route, cells.each_ref().map(String::as_str))?;
    }
    Ok(())
}
