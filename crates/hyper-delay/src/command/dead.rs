use clap::Args;
use hyper_delay_client::{Client, DeadLetter};

use super::{
    Failure,
    remote::{Remote, print, print_json},
    value,
};

/// List the dead letters of a route, oldest first, or revive them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay dead service-A
  hyper-delay dead service-A --kick order-17")]
pub(super) struct Dead {
    /// The route.
    route: String,
    /// Make this one due now, with all its attempts to come; fail if it is not dead.
    #[arg(long, value_name = "ID", conflicts_with = "kick_all")]
    kick: Option<String>,
    /// Do so with all of them.
    #[arg(long)]
    kick_all: bool,
    /// Print a line of JSON for each, as the protocol has it.
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
                // One that is gone by now has been kicked or cancelled by another.
                if client.kick(&route, &letter.id).await? {
                    print(&format!("{} on {route} is due now", letter.id))?;
                }
            } else if self.json {
                print_json(&letter)?;
            } else {
                print(&format!(
                    "{} died at {} after attempt {}; it was due at {}",
                    letter.id,
                    value::shown(letter.died_at_millis),
                    letter.attempt,
                    value::shown(letter.fire_at_millis)
                ))?;
            }
        }
        Ok(())
    }
}

/// All of them, before any is kicked and may die again.
async fn letters(client: &Client, route: &str) -> Result<Vec<DeadLetter>, Failure> {
    /// The most that one answer may have.
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
