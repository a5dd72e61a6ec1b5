use std::io::{self, IsTerminal as _};

use clap::Args;
use hyper_delay_client::{Bulk, Client, DeadLetter};

use super::{
    CommandError, bulk,
    output::{print, print_json, report},
    remote::Remote,
    task_format::{AT_ONCE, describe_failure, print_payload},
    time_format,
};

/// List the dead letters of a route, oldest first, or revive or remove them.
///
/// If the tasks of the route are orphaned, list all of them (see `hyper-delay stats --help`).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay dead service-A
  hyper-delay dead service-A --kick order-17
  hyper-delay dead service-A --reason \"bad address\" --delete-all")]
pub(super) struct Dead {
    /// The route.
    route: String,
    /// Only dead letters with exactly this reason. An empty text selects those without a reason.
    #[arg(long, value_name = "TEXT", conflicts_with = "one")]
    reason: Option<String>,
    /// Only tasks that died at this time or later.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time, conflicts_with = "one")]
    from: Option<u64>,
    /// Only tasks that died before this time.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time, conflicts_with = "one")]
    until: Option<u64>,
    /// Also print the headers and payloads.
    #[arg(long, conflicts_with = "act")]
    payload: bool,
    /// Make this task due now and restore all its attempts; fail if it is not dead.
    #[arg(long, value_name = "ID", groups = ["act", "one"])]
    kick: Option<String>,
    /// Remove this task; fail if it is not dead.
    #[arg(long, value_name = "ID", groups = ["act", "one"])]
    delete: Option<String>,
    /// Make all dead letters that match due now and restore all their attempts.
    #[arg(long, groups = ["act", "all"])]
    kick_all: bool,
    /// Remove all dead letters that match. Counts them and asks first.
    #[arg(long, groups = ["act", "all"])]
    delete_all: bool,
    /// Do not ask for confirmation.
    #[arg(long, requires = "all")]
    yes: bool,
    /// Print a line of JSON for each task, with the fields of the protocol.
    #[arg(long, conflicts_with = "act")]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Dead {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let client = self.remote.connect().await?;
        let route = self.route.clone();
        if let Some(id) = self.kick {
            return match client.kick(&route, &id).await? {
                true => print(&format!("{id} on {route} is due now")),
                false => Err(CommandError::NoDeadLetter { route, id }),
            };
        }
        if let Some(id) = self.delete {
            return match client.delete(&route, &id).await? {
                true => print(&format!("{id} on {route} is removed")),
                false => Err(CommandError::NoDeadLetter { route, id }),
            };
        }
        if self.kick_all {
            // Without a terminal there is no question: nothing is lost.
            let yes = self.yes || !io::stdin().is_terminal();
            let kick = self.matching(client.kick_all(&route));
            return bulk::run(&client, kick, "make due now", "due now", yes).await;
        }
        if self.delete_all {
            let delete = self.matching(client.delete_all(&route));
            return bulk::run(&client, delete, "remove", "removed", self.yes).await;
        }
        self.list(&client).await
    }

    fn matching(&self, mut bulk: Bulk) -> Bulk {
        if let Some(reason) = &self.reason {
            bulk = bulk.reason(reason);
        }
        if let Some(from) = self.from {
            bulk = bulk.from_millis(from);
        }
        if let Some(until) = self.until {
            bulk = bulk.until_millis(until);
        }
        bulk
    }

    async fn list(&self, client: &Client) -> Result<(), CommandError> {
        /// The maximum `limit` of the protocol.
        const PAGE: u16 = 1_000;
        let mut after: Option<String> = None;
        let mut is_empty = true;
        loop {
            let mut query = client.dead(&self.route).limit(PAGE).payload(self.payload);
            if let Some(reason) = &self.reason {
                query = query.reason(reason);
            }
            if let Some(from) = self.from {
                query = query.from_millis(from);
            }
            if let Some(until) = self.until {
                query = query.until_millis(until);
            }
            if let Some(after) = after {
                query = query.after(after);
            }
            let page = query.await?;
            is_empty &= page.tasks.is_empty();
            for letter in &page.tasks {
                if self.json {
                    print_json(letter)?;
                } else {
                    print(&describe_dead_letter(letter))?;
                    print_payload(&letter.content)?;
                }
            }
            after = page.next_after().map(str::to_owned);
            if after.is_none() {
                if is_empty {
                    report("no dead letter matches")?;
                }
                return Ok(());
            }
        }
    }
}

/// Describes a task in one line.
fn describe_dead_letter(letter: &DeadLetter) -> String {
    let (id, attempt) = (&letter.id, letter.attempt);
    let due = Some(letter.fire_at_millis).filter(|at| *at >= AT_ONCE);
    let due = due.map(time_format::format_rfc_3339);
    let mut text = match letter.died_at_millis {
        0 => match due {
            Some(due) => format!("{id} is not dead; it is due at {due}"),
            None => format!("{id} is not dead; it is due at once"),
        },
        died_at => {
            let died_at = time_format::format_rfc_3339(died_at);
            let due = due.map(|due| format!("; it was due at {due}"));
            format!(
                "{id} died at {died_at} after attempt {attempt}{}",
                due.unwrap_or_default()
            )
        }
    };
    match (&letter.reason, &letter.last_failure) {
        (Some(reason), _) => text += &format!("; reason: {reason}"),
        (None, Some(failure)) => text += &describe_failure(failure),
        (None, None) => {}
    }
    if letter.orphaned {
        text += "; orphaned: no connection has its route";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_state_and_the_reason() {
        let line =
            |json: &str| describe_dead_letter(&serde_json::from_str(json).expect("a letter"));
        assert_eq!(
            line(
                r#"{"id":"a","fire_at":0,"attempt":3,"died_at":1732616400007,"reason":"bad block"}"#
            ),
            "a died at 2024-11-26T10:20:00.007Z after attempt 3; reason: bad block"
        );
        assert_eq!(
            line(r#"{"id":"b","fire_at":0,"attempt":0,"died_at":0,"orphaned":true}"#),
            "b is not dead; it is due at once; orphaned: no connection has its route"
        );
    }
}
