use std::collections::BTreeMap;

use clap::Args;
use hyper_delay_client::{FailureKind, Reason, TaskState};

use super::{
    CommandError,
    output::{escaped, print, print_json, report},
    remote::Remote,
};

/// Count dead letters, or retrying tasks, by route and reason, the most frequent reason first.
///
/// Without --route, the server counts the tasks of all routes, which needs the right admin on *.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay reasons --route service-A
  hyper-delay reasons --retrying")]
pub(super) struct Reasons {
    /// Count only the tasks of this route.
    #[arg(long)]
    route: Option<String>,
    /// Count waiting and parked tasks whose last attempt has failed, and not dead letters.
    #[arg(long)]
    retrying: bool,
    /// Print a line of JSON for each reason, with the fields of the protocol. The reason is empty
    /// for tasks without one.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Reasons {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let client = self.remote.connect().await?;
        // A reply counts a part of the tasks, so the same reason can come again.
        let mut counts = BTreeMap::<(String, String, Option<FailureKind>), Reason>::new();
        let mut after: Option<String> = None;
        loop {
            let mut query = client.reasons();
            if let Some(route) = &self.route {
                query = query.route(route);
            }
            if self.retrying {
                query = query.state(TaskState::Retrying);
            }
            if let Some(after) = after {
                query = query.after(after);
            }
            let page = query.await?;
            for reason in page.reasons {
                let name = (
                    reason.route.clone(),
                    reason.reason.clone(),
                    reason.failure.clone(),
                );
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
            report(match self.retrying {
                true => "no task is retrying",
                false => {
                    "there are no dead letters; --retrying counts tasks that wait for another attempt"
                }
            })?;
            return Ok(());
        }
        match self.json {
            true => reasons.iter().try_for_each(print_json),
            false => table(&reasons, self.retrying),
        }
    }
}

fn table(reasons: &[Reason], retrying: bool) -> Result<(), CommandError> {
    const HEAD: &str = "route";
    let names = reasons.iter().map(|reason| escaped(&reason.route));
    let names: Vec<_> = names.collect();
    let lengths = names.iter().map(|name| name.chars().count());
    let wide = lengths.max().unwrap_or_default().max(HEAD.len());
    let row = |name: &str, tasks: &str, reason: &str| {
        print(&format!("{name:<wide$}{tasks:>10}  {reason}"))
    };
    row(HEAD, if retrying { "retrying" } else { "dead" }, "reason")?;
    for (reason, name) in reasons.iter().zip(&names) {
        let text = match (&reason.failure, reason.reason.as_str()) {
            (Some(failure), "") => failure.to_string(),
            (Some(failure), text) => format!("{failure}: {text}"),
            (None, "") => "(none)".to_owned(),
            (None, text) => text.to_owned(),
        };
        row(name, &reason.tasks.to_string(), &text)?;
    }
    Ok(())
}
