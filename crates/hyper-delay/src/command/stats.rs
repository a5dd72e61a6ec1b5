use clap::Args;
use hyper_delay_client::RouteStats;

use super::{
    CommandError,
    output::{escaped, print, print_json},
    remote::Remote,
};

/// Print the number of tasks by state and by route.
///
/// Waiting tasks are due later; they include those in flight. Parked tasks are due, and no consumer
/// has credit for them. Retrying tasks are waiting or parked ones whose last attempt has failed:
/// `hyper-delay list --state retrying` shows why. Orphaned tasks belong to a route that the server made for a connection and
/// that no connection has registered any more; such a route is marked.
///
/// List the tasks of an orphaned route with `hyper-delay dead`.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay stats --route service-A")]
pub(super) struct Stats {
    /// Print only this route.
    #[arg(long)]
    route: Option<String>,
    /// Print the counts as one line of JSON, with the fields of the protocol.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Stats {
    pub(super) async fn run(self) -> Result<(), CommandError> {
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
            "waiting {}, parked {}, in flight {}, retrying {}, dead {}, orphaned {}; \
             connections {}, unknown acks {}",
            stats.waiting,
            stats.parked,
            stats.in_flight,
            stats.retrying,
            stats.dead,
            stats.orphaned,
            stats.connections,
            stats.unknown_acks
        ))?;
        table(&stats.routes)
    }
}

fn table(routes: &[RouteStats]) -> Result<(), CommandError> {
    const HEAD: &str = "route";
    let names = routes.iter().map(|route| escaped(&route.route));
    let names: Vec<_> = names.collect();
    let lengths = names.iter().map(|name| name.chars().count());
    let wide = lengths.max().unwrap_or_default().max(HEAD.len());
    let row = |name: &str, cells: [&str; 6], mark: &str| {
        let cells = cells.map(|cell| format!("{cell:>10}")).concat();
        print(&format!("{name:<wide$}{cells}{mark}"))
    };
    if !routes.is_empty() {
        row(
            HEAD,
            [
                "waiting",
                "parked",
                "in flight",
                "retrying",
                "dead",
                "consumers",
            ],
            "",
        )?;
    }
    for (route, name) in routes.iter().zip(&names) {
        let cells = [
            route.waiting,
            route.parked,
            route.in_flight,
            route.retrying,
            route.dead,
            route.consumers,
        ];
        let cells = cells.map(|cell| cell.to_string());
        let mark = match (route.orphaned, route.paused) {
            (true, _) => "  orphaned",
            (false, true) => "  paused",
            (false, false) => "",
        };
        row(name, cells.each_ref().map(String::as_str), mark)?;
    }
    Ok(())
}
