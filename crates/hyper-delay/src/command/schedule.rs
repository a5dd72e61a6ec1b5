use std::{io::Read as _, time::Duration};

use clap::{Args, ValueEnum};
use hyper_delay_client::{Compression, Task};

use super::{
    Failure,
    remote::{Remote, print},
    value,
};

/// Schedule a task, and print its receipt once it is on disk.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay schedule hello --route service-A --in 5s
  hyper-delay schedule - --route service-A --at 2030-01-31T08:00:00Z --id order-17 < order.json")]
pub(super) struct Schedule {
    /// The payload; - reads it from standard input, as it is.
    payload: String,
    /// The route that it is delivered to, 1 to 128 bytes.
    #[arg(long)]
    route: String,
    /// Its name within the route, 1 to 128 bytes. By default a UUID.
    #[arg(long)]
    id: Option<String>,
    /// Due after so long, such as 500ms, 5s or "1h 30m". By default at once.
    #[arg(long, value_name = "TIME", value_parser = value::duration, conflicts_with = "at")]
    r#in: Option<Duration>,
    /// Due at this time: RFC 3339, or milliseconds since 1970. If it has passed, at once.
    #[arg(long, value_name = "TIME", value_parser = value::moment)]
    at: Option<u64>,
    /// How the payload is compressed: a label for the consumer.
    #[arg(long, value_enum, default_value_t = Label::None)]
    compression: Label,
    /// Take the place of the task of this id, if there is one.
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
            value::shown(receipt.fire_at_millis),
            receipt.fire_at_millis
        ))
    }
}
