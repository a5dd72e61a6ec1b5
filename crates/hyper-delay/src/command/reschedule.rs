use std::time::Duration;

use clap::{ArgGroup, Args};
use hyper_delay_client::{Client, Code, Moved, RequestError};

use super::{
    CommandError,
    output::print,
    remote::Remote,
    reschedule_all::{Confirmation, MovedTasks},
    time_format,
};

/// Make a waiting task due now, or many; fail if the one is in flight or does not exist.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay run-now service-A order-17
  hyper-delay run-now service-A --all --state retrying --reason \"server is down\"

The task keeps its content and its number of failed rounds. A dead letter is not moved: see
hyper-delay dead --kick.")]
pub(super) struct RunNow {
    /// The route of the task.
    route: String,
    /// The id of the task on the route.
    #[arg(required_unless_present = "all")]
    id: Option<String>,
    #[command(flatten)]
    many: MovedTasks,
    #[command(flatten)]
    remote: Remote,
}

/// Make a waiting or parked task due at another time, or many; fail if the one is in flight or does
/// not exist.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay reschedule service-A order-17 2030-01-31T08:00:00Z
  hyper-delay reschedule service-A order-17 \"1h 30m\"
  hyper-delay reschedule service-A --all --until 2030-01-31T08:00:00Z --to 2030-01-31T08:00:00Z
  hyper-delay reschedule service-A --all --later 1h

The task keeps its content and its number of failed rounds. The same schedule again changes nothing.")]
#[command(group = ArgGroup::new("new_time").args(["time", "to", "later"]).required(true))]
pub(super) struct Reschedule {
    /// The route of the task.
    route: String,
    /// The id of the task on the route.
    #[arg(required_unless_present = "all", requires = "time")]
    id: Option<String>,
    /// When the task is due: RFC 3339, Unix milliseconds, or a time from now such as 500ms, 5s or
    /// "1h 30m". A past time means now.
    #[arg(value_parser = due_time, allow_hyphen_values = true)]
    time: Option<DueTime>,
    #[command(flatten)]
    many: MovedTasks,
    /// With --all: when the tasks are due, given as TIME is.
    #[arg(long, value_name = "TIME", value_parser = due_time, requires = "all", conflicts_with = "id")]
    to: Option<DueTime>,
    /// With --all: how much later than before each task is due, such as 5m.
    #[arg(
        long,
        value_name = "SPAN",
        value_parser = time_format::parse_duration,
        requires = "all",
        conflicts_with = "id"
    )]
    later: Option<Duration>,
    #[command(flatten)]
    remote: Remote,
}

/// A time that a person writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DueTime {
    /// Unix milliseconds.
    At(u64),
    FromNow(Duration),
}

impl RunNow {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let route = self.route;
        let Some(id) = self.id else {
            let words = ("make due now", "due now");
            let make = |client: &Client| client.run_now_all(route);
            let ask = Confirmation::OnTerminal;
            return self.many.run(self.remote, make, words, ask).await;
        };
        let client = self.remote.connect().await?;
        let moved = client.run_now(&route, &id).await;
        report(moved, route, id)
    }
}

impl Reschedule {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let route = self.route;
        let (Some(id), Some(time)) = (self.id, self.time) else {
            let (to, later) = (self.to, self.later);
            let make = |client: &Client| match (to, later) {
                (Some(to), _) => client.reschedule_all_millis(route, to.millis()),
                (None, later) => client.postpone_all(route, later.unwrap_or_default()),
            };
            let words = ("reschedule", "rescheduled");
            let ask = Confirmation::Always;
            return self.many.run(self.remote, make, words, ask).await;
        };
        let client = self.remote.connect().await?;
        let moved = client.reschedule_millis(&route, &id, time.millis()).await;
        report(moved, route, id)
    }
}

impl DueTime {
    /// Returns it in Unix milliseconds.
    fn millis(self) -> u64 {
        match self {
            Self::At(millis) => millis,
            Self::FromNow(after) => time_format::millis_from_now(after),
        }
    }
}

/// Prints when a moved task is due.
fn report(
    moved: Result<Moved, RequestError>,
    route: String,
    id: String,
) -> Result<(), CommandError> {
    let moved = match moved {
        Err(RequestError::Refused(refusal)) if refusal.code == Code::Dead => {
            return Err(CommandError::Dead { route, id });
        }
        moved => moved?,
    };
    match moved.due_millis {
        Some(due) => print(&format!(
            "{id} on {route} is due at {} ({due})",
            time_format::format_rfc_3339(due)
        )),
        None if moved.found => Err(CommandError::InFlight { route, id }),
        None => Err(CommandError::NoTask { route, id }),
    }
}

/// Parses a time, or a span from now.
fn due_time(text: &str) -> Result<DueTime, String> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    match time_format::parse_time(text) {
        Ok(millis) => Ok(DueTime::At(millis)),
        Err(error) if is_number => Err(error),
        Err(_) => match time_format::parse_duration(text) {
            Ok(after) => Ok(DueTime::FromNow(after)),
            Err(_) => Err(
                "give a time such as 2030-01-31T08:00:00Z, milliseconds since 1970, or \
                           a time from now such as 500ms, 5s or 1h 30m"
                    .to_owned(),
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_due_time_is_a_moment_or_a_span_from_now() {
        let due = |text| due_time(text).ok();
        assert_eq!(due("1732616400000"), Some(DueTime::At(1_732_616_400_000)));
        assert_eq!(
            due("2024-11-26T10:20:00Z"),
            Some(DueTime::At(1_732_616_400_000))
        );
        let minutes = |minutes: u64| DueTime::FromNow(Duration::from_secs(60 * minutes));
        assert_eq!(due("1h 30m"), Some(minutes(90)));
        for text in ["", "soon", "-5", "1732616400", "2024-11-26"] {
            assert_eq!(due(text), None, "{text}");
        }
        let seconds = due_time("1732616400").unwrap_err();
        assert!(seconds.contains("Unix seconds"), "{seconds}");
    }
}
