//! Moves of every task of a route that matches: the options of `run-now` and `reschedule`.

use std::io::{self, IsTerminal as _};

use clap::{Args, ValueEnum};
use hyper_delay_client::{Bulk, Client, TaskState};

use super::{CommandError, bulk, remote::Remote, time_format};

/// Which tasks of the route are moved.
#[derive(Debug, Args)]
pub(super) struct MovedTasks {
    /// Move all tasks of the route that match. Counts them and asks first; without a terminal,
    /// `run-now` does not ask, and `reschedule` needs --yes.
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// Only tasks in this state. Default: waiting and parked.
    #[arg(long, value_enum, requires = "all", conflicts_with = "id")]
    state: Option<MovableState>,
    /// Only tasks whose last failure has exactly this reason. An empty text selects those that failed
    /// without a reason.
    #[arg(long, value_name = "TEXT", requires = "all", conflicts_with = "id")]
    reason: Option<String>,
    /// Only tasks that are due at this time or later.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time, requires = "all", conflicts_with = "id")]
    from: Option<u64>,
    /// Only tasks that are due before this time.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time, requires = "all", conflicts_with = "id")]
    until: Option<u64>,
    /// Only count the tasks that match.
    #[arg(long, requires = "all", conflicts_with = "id")]
    dry_run: bool,
    /// Do not ask for confirmation.
    #[arg(long, requires = "all", conflicts_with = "id")]
    yes: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MovableState {
    /// Waiting for its time.
    Waiting,
    /// Due, and no consumer has room.
    Parked,
    /// Waiting or parked after a failure.
    Retrying,
}

impl MovedTasks {
    /// Begins the operation, and waits for its end. `verb` and `past` say what happens to the tasks.
    pub(super) async fn run(
        self,
        remote: Remote,
        make: impl FnOnce(&Client) -> Bulk,
        (verb, past): (&str, &str),
        asks: Confirmation,
    ) -> Result<(), CommandError> {
        let client = remote.connect().await?;
        let mut moves = make(&client);
        if let Some(state) = self.state {
            moves = moves.state(match state {
                MovableState::Waiting => TaskState::Waiting,
                MovableState::Parked => TaskState::Parked,
                MovableState::Retrying => TaskState::Retrying,
            });
        }
        if let Some(reason) = self.reason {
            moves = moves.reason(reason);
        }
        if let Some(from) = self.from {
            moves = moves.from_millis(from);
        }
        if let Some(until) = self.until {
            moves = moves.until_millis(until);
        }
        if self.dry_run {
            return bulk::dry_run(&moves).await;
        }
        let yes = self.yes || asks == Confirmation::OnTerminal && !io::stdin().is_terminal();
        bulk::run(&client, moves, verb, past, yes).await
    }
}

/// When a question comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirmation {
    /// On a terminal. Without one, the answer is yes.
    OnTerminal,
    /// Always. Without a terminal, the command fails.
    Always,
}

/// Describes where a bulk operation moves tasks, and which; empty if it moves none.
pub(super) fn describe_move(
    state: Option<&TaskState>,
    due: Option<u64>,
    shift: Option<u64>,
) -> String {
    let mut text = String::new();
    if let Some(state) = state {
        text += &format!(", state {state}");
    }
    if let Some(due) = due {
        text += &format!(", to {}", time_format::format_rfc_3339(due));
    }
    if let Some(shift) = shift {
        text += &format!(", later by {}", time_format::format_duration(shift));
    }
    text
}
