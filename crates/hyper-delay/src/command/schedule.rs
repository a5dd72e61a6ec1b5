use std::{io::Read as _, time::Duration};

use clap::{Args, ValueEnum};
use hyper_delay_client::{Compression, Task};

use super::{
    Failure,
    remote::{Remote, print},
    value,
};

/// Schedule a task and print its receipt when it is on disk.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay schedule hello --route service-A --in 5s
  hyper-delay schedule - --route service-A --at 2030-01-31T08:00:00Z --id order-17 < order.json")]
pub(super) struct Schedule {
    /// The payload. - reads it from standard input.
    payload: String,
    /// The route of the task, 1 to 128 bytes.
    #[arg(long)]
    route: String,
    /// The id of the task on the route, 1 to 128 bytes. Default: a UUID.
    #[arg(long)]
    id: Option<String>,
    /// Time until the task is due, such as 500ms, 5s or "1h 30m". Default: due now.
    #[arg(long, value_name = "TIME", value_parser = value::duration, conflicts_with = "at", allow_hyphen_values = true)]
    r#in: Option<Duration>,
    /// Time at which the task is due: RFC 3339 or Unix milliseconds. A past time is due now.
    #[arg(long, value_name = "TIME", value_parser = value::moment, allow_hyphen_values = true)]
    at: Option<u64>,
    /// The compression of the payload: a label for the consumer.
    #[arg(long, value_enum, default_value_t = Label::None)]
    compression: Label,
    /// Replace an existing task with this id.
    #[arg(long, requires = "id")]
    replace: bool,
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
    pub(super) async fn run(self) -> Result<(), Failure> {
        let payload = if self.payload == "-" {
            let mut payload = Vec::new();
            std::io::stdin()
                .read_to_end(&mut payload)
                .map_err(Failure::Input)?;
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
            task = task.after(delay);
        }
        if let Some(millis) = self.at {
            task = task.at_millis(millis);
        }
        if self.replace {
            task = task.replace();
        }
        let receipt = self.remote.connect().await?.schedule(task).await?;
        print(&format!(
            "{} on {} is due at {} ({})",
            receipt.id,
            receipt.route,
            value::rfc_3339(receipt.fire_at_millis),
            receipt.fire_at_millis
        ))
    }
}
