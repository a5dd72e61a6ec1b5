use clap::{Args, ValueEnum};
use hyper_delay_client::TaskState;

use super::{
    CommandError,
    output::{print, print_json, report},
    remote::Remote,
    task_format::{describe_task, print_payload},
    time_format,
};

/// List tasks in order of time: parked, waiting and dead ones.
///
/// Without a route, waiting tasks are in order of time over all routes; parked and dead ones are
/// listed route by route.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay list service-A
  hyper-delay list service-A --state retrying
  hyper-delay list --state waiting --until 2030-01-31T08:00:00Z --payload")]
pub(super) struct List {
    /// Only tasks of this route.
    route: Option<String>,
    /// Only tasks in this state.
    #[arg(long)]
    state: Option<ListedState>,
    /// Only tasks that are due, or have died, at this time or later.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time)]
    from: Option<u64>,
    /// Only tasks that are due, or have died, before this time.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time)]
    until: Option<u64>,
    /// Only retrying tasks with exactly this reason. An empty text selects those without a reason.
    #[arg(long, value_name = "TEXT", requires = "state")]
    reason: Option<String>,
    /// Maximum number of tasks to print. Default: all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Also print the headers and payloads.
    #[arg(long)]
    payload: bool,
    /// Print a line of JSON for each task, with the fields of the protocol.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ListedState {
    Waiting,
    Parked,
    Dead,
    /// Waiting and parked ones whose last attempt has failed.
    Retrying,
}

impl List {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        /// The maximum `limit` of the protocol.
        const PAGE: u64 = 1_000;
        let client = self.remote.connect().await?;
        let mut left = self.limit.unwrap_or(u64::MAX);
        let mut after: Option<String> = None;
        let mut is_empty = true;
        while left > 0 {
            let limit = u16::try_from(left.min(PAGE)).unwrap_or(u16::MAX);
            let mut query = client.list().limit(limit).payload(self.payload);
            if let Some(route) = &self.route {
                query = query.route(route);
            }
            if let Some(state) = self.state {
                query = query.state(match state {
                    ListedState::Waiting => TaskState::Waiting,
                    ListedState::Parked => TaskState::Parked,
                    ListedState::Dead => TaskState::Dead,
                    ListedState::Retrying => TaskState::Retrying,
                });
            }
            if let Some(from) = self.from {
                query = query.from_millis(from);
            }
            if let Some(until) = self.until {
                query = query.until_millis(until);
            }
            if let Some(reason) = &self.reason {
                query = query.reason(reason);
            }
            if let Some(after) = after {
                query = query.after(after);
            }
            let page = query.await?;
            is_empty &= page.tasks.is_empty();
            for task in &page.tasks {
                if self.json {
                    print_json(task)?;
                } else {
                    print(&describe_task(task))?;
                    print_payload(&task.content)?;
                }
            }
            left = left.saturating_sub(page.tasks.len() as u64);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        if is_empty {
            report("no task matches")?;
        }
        Ok(())
    }
}
