use clap::Args;
use hyper_delay_client::{Client, DeadLetter};

use super::{
    Failure,
    remote::{Remote, print, print_json},
    value,
};

/// List the dead letters of a route, oldest first, or revive them.
///
/// If the server made the route for a connection that is closed, also list its other tasks.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay dead service-A
  hyper-delay dead service-A --kick order-17")]
pub(super) struct Dead {
    /// The route.
    route: String,
    /// Make this task due now and restore all its attempts; fail if it is not dead.
    #[arg(long, value_name = "ID", conflicts_with = "kick_all")]
    kick: Option<String>,
    /// Make all dead letters due now and restore all their attempts.
    #[arg(long)]
    kick_all: bool,
    /// Print a line of JSON for each task, with the fields of the protocol.
    #[arg(long, conflicts_with_all = ["kick", "kick_all"])]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Dead {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let client = self.remote.connect().await?;
        let route = self.route;
        if let Some(id) = self.kick {
            if !client.kick(&route, &id).await? {
                return Err(Failure::NoDeadLetter { route, id });
            }
            return print(&format!("{id} on {route} is due now"));
        }
        let letters = letters(&client, &route).await?;
        for letter in letters {
            if self.kick_all {
                // `false` if it is not dead or another client has kicked or cancelled it.
                if client.kick(&route, &letter.id).await? {
                    print(&format!("{} on {route} is due now", letter.id))?;
                }
            } else if self.json {
                print_json(&letter)?;
            } else {
                print(&described(&letter))?;
            }
        }
        Ok(())
    }
}

/// Describes a task in one line.
fn described(letter: &DeadLetter) -> String {
    let (id, attempt) = (&letter.id, letter.attempt);
    let due = value::rfc_3339(letter.fire_at_millis);
    let mut text = match letter.died_at_millis {
        0 => format!("{id} is not dead; it is due at {due}"),
        died_at => format!(
            "{id} died at {} after attempt {attempt}; it was due at {due}",
            value::rfc_3339(died_at)
        ),
    };
    if let Some(reason) = &letter.reason {
        text += &format!("; its content cannot be read: {reason}");
    }
    if letter.orphaned {
        text += "; orphaned: its connection is closed";
    }
    text
}

/// Lists all tasks before any is kicked, as a kicked task may die again.
async fn letters(client: &Client, route: &str) -> Result<Vec<DeadLetter>, Failure> {
    /// The maximum `limit` of the protocol.
    const PAGE: u16 = 1_000;
    let mut all: Vec<DeadLetter> = Vec::new();
    loop {
        let mut query = client.dead(route).limit(PAGE);
        if let Some(last) = all.last() {
            query = query.after(last.id.clone());
        }
        let page = query.await?;
        let more = page.more && !page.tasks.is_empty();
        all.extend(page.tasks);
        if !more {
            return Ok(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_state_and_the_reason() {
        let line = |json: &str| described(&serde_json::from_str(json).expect("a letter"));
        assert_eq!(
            line(
                r#"{"id":"a","fire_at":0,"attempt":3,"died_at":1732616400007,"reason":"bad block"}"#
            ),
            "a died at 2024-11-26T10:20:00.007Z after attempt 3; it was due at \
             1970-01-01T00:00:00.000Z; its content cannot be read: bad block"
        );
        assert_eq!(
            line(r#"{"id":"b","fire_at":0,"attempt":0,"died_at":0,"orphaned":true}"#),
            "b is not dead; it is due at 1970-01-01T00:00:00.000Z; \
             orphaned: its connection is closed"
        );
    }
}
