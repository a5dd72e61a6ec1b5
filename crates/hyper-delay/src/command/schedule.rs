use std::{io::Read as _, time::Duration};

use clap::{Args, ValueEnum};
use hyper_delay_client::{Client, Code, Compression, Receipt, RequestError, Task};

use super::{CommandError, output::print, remote::Remote, time_format};

/// Schedule a task and print its receipt when it is on disk.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay schedule hello --route service-A --in 5s
  hyper-delay schedule - --route service-A --at 2030-01-31T08:00:00Z --id order-17 < order.json

A command with --id and --at or --in can be repeated after any error: the same task is not scheduled
twice, and its first time stays.")]
pub(super) struct Schedule {
    /// The payload. - reads it from standard input.
    payload: String,
    /// The route of the task, 1 to 128 bytes.
    #[arg(long)]
    route: String,
    /// The id of the task on the route, 1 to 128 bytes. Default: a UUID.
    #[arg(long)]
    id: Option<String>,
    /// Time until the task is due, by the clock of the server, such as 500ms, 5s or "1h 30m".
    /// Default: due now.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_duration, conflicts_with = "at", allow_hyphen_values = true)]
    r#in: Option<Duration>,
    /// Time at which the task is due: RFC 3339 or Unix milliseconds. A past time is due now.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time, allow_hyphen_values = true)]
    at: Option<u64>,
    /// The compression of the payload: a label for the consumer.
    #[arg(long, value_enum, default_value_t = Label::None)]
    compression: Label,
    /// Replace an existing task with this id.
    #[arg(long, requires = "id")]
    replace: bool,
    /// A header for the consumer, such as traceparent=00-0af7; can be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = header, allow_hyphen_values = true)]
    header: Vec<(String, String)>,
    /// Time from now after which the task is removed if it is not done. Default: never.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_duration, conflicts_with = "expires_at", allow_hyphen_values = true)]
    expires_in: Option<Duration>,
    /// Time at which the task is removed if it is not done: RFC 3339 or Unix milliseconds.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time, allow_hyphen_values = true)]
    expires_at: Option<u64>,
    /// The time that a consumer has for its ack, 1ms to 1day. Default: the setting of the route or
    /// the server.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_duration, allow_hyphen_values = true)]
    ack_timeout: Option<Duration>,
    /// The failed rounds after which the task is a dead letter. Default: the setting of the
    /// route or the server.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_hyphen_values = true)]
    max_attempts: Option<u32>,
    /// The wait after the first failed round, which doubles. Default: the setting of the route
    /// or the server.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_duration, allow_hyphen_values = true)]
    retry_delay: Option<Duration>,
    /// The longest wait after a failed round. Default: the setting of the route or the server.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_duration, allow_hyphen_values = true)]
    max_retry_delay: Option<Duration>,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Label {
    None,
    Lz4,
    Zstd,
}

impl Schedule {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let payload = if self.payload == "-" {
            let mut payload = Vec::new();
            std::io::stdin()
                .read_to_end(&mut payload)
                .map_err(CommandError::Input)?;
            payload
        } else {
            self.payload.into_bytes()
        };
        let mut task = Task::new(payload)
            .route(self.route)
            .compression(match self.compression {
                Label::None => Compression::None,
                Label::Lz4 => Compression::Lz4,
                Label::Zstd => Compression::Zstd,
            });
        if let Some(id) = self.id {
            task = task.id(id);
        }
        if let Some(delay) = self.r#in {
            task = task.delay(delay);
        }
        if let Some(millis) = self.at {
            task = task.at_millis(millis);
        }
        if self.replace {
            task = task.replace();
        }
        for (name, value) in self.header {
            task = task.header(name, value);
        }
        if let Some(time) = self.expires_in {
            task = task.expires_after(time);
        }
        if let Some(millis) = self.expires_at {
            task = task.expires_at_millis(millis);
        }
        if let Some(timeout) = self.ack_timeout {
            task = task.ack_timeout(timeout);
        }
        if let Some(attempts) = self.max_attempts {
            task = task.max_attempts(attempts);
        }
        if let Some(first) = self.retry_delay {
            task = task.retry_delay(first);
        }
        if let Some(longest) = self.max_retry_delay {
            task = task.max_retry_delay(longest);
        }
        let receipt = schedule(&self.remote.connect().await?, task, self.r#in).await?;
        let fire_at = receipt.fire_at_millis;
        let when = match fire_at <= time_format::millis_from_now(Duration::ZERO) {
            true => "now".to_owned(),
            false => format!("for {} ({fire_at})", time_format::format_rfc_3339(fire_at)),
        };
        print(&format!(
            "{} on {} is scheduled {when}",
            receipt.id, receipt.route
        ))
    }
}

/// Schedules a task. A server of version 0.3 knows no delay and misses the time: then the clock of
/// this machine counts.
async fn schedule(
    client: &Client,
    task: Task,
    delay: Option<Duration>,
) -> Result<Receipt, RequestError> {
    let Some(delay) = delay else {
        return client.schedule(task).await;
    };
    match client.schedule(task.clone()).await {
        Err(RequestError::Refused(refusal)) if refusal.code == Code::MissingField => {
            client.schedule(task.after(delay)).await
        }
        answer => answer,
    }
}

/// Parses a header.
fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("give a name, =, and a value, such as traceparent=00-0af7".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::header;

    #[test]
    fn a_header_is_a_name_and_a_value() {
        let pair = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(header("a=b=c"), pair("a", "b=c"));
        assert_eq!(header("a="), pair("a", ""));
        assert!(header("a").is_err() && header("=a").is_err());
    }
}
