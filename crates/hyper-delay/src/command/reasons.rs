use std::collections::BTreeMap;

use clap::Args;
use hyper_delay_client::Reason;

use super::{
    CommandError,
    output::{escaped, print, print_json, report},
    remote::Remote,
};

/// Count dead letters by route and reason, the most frequent reason first.
///
/// Without --route, the server counts the dead letters of all routes, which needs the right admin
/// on *.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay reasons --route service-A")]
pub(super) struct Reasons {
    /// Count only the dead letters of this route.
    #[arg(long)]
    route: Option<String>,
    /// Print a line of JSON for each reason, with the fields of the protocol. The reason is empty
    /// for dead letters without one.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Reasons {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let client = self.remote.connect().await?;
        // A reply counts a part of the dead letters, so the same reason can come again.
        let mut counts = BTreeMap::<(String, String), Reason>::new();
        let mut after: Option<String> = None;
        loop {
            let mut query = client.reasons();
            if let Some(route) = &self.route {
                query = query.route(route);
            }
            if let Some(after) = after {
                query = query.after(after);
            }
            let page = query.await?;
            for reason in page.reasons {
                let name = (reason.route.clone(), reason.reason.clone());
                match counts.get_mut(&name) {
                    Some(known) => known.tasks += reason.tasks,
                    None => _ = counts.insert(name, reason),
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let mut reasons: Vec<Reason> = counts.into_values().collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.tasks));
        if reasons.is_empty() {
            report("there are no dead letters")?;
            return Ok(());
        }
        match self.json {
            true => reasons.iter().try_for_each(print_json),
            false => table(&reasons),
        }
    }
}

fn table(reasons: &[Reason]) -> Result<(), CommandError> {
    const HEAD: &str = "route";
    let names = reasons.iter().map(|reason| escaped(&reason.route));
    let names: Vec<_> = names.collect();
    let lengths = names.iter().map(|name| name.chars().count());
    let wide = lengths.max().unwrap_or_default().max(HEAD.len());
    let row = |name: &str, tasks: &str, reason: &str| {
        print(&format!("{name:<wide$}{tasks:>10}  {reason}"))
    };
    row(HEAD, "dead", "reason")?;
    for (reason, name) in reasons.iter().zip(&names) {
        let text = match reason.reason.as_str() {
            "" => "(none)",
            text => text,
        };
        row(name, &reason.tasks.to_string(), text)?;
    }
    Ok(())
}
