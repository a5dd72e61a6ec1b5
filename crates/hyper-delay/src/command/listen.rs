use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::Args;
use hyper_delay_client::{Client, Deliveries, Delivery, ListenError, Unanswered};
use serde_json::json;
use tokio::sync::mpsc;

use super::{
    CommandError,
    output::{print, to_json},
    remote::Remote,
    signal, time_format,
};

/// Print the deliveries of routes and acknowledge each after printing it.
///
/// Payloads are printed as text if they are UTF-8, otherwise in base64. The lateness counts from the
/// time when the round was due: for a scheduled time that had passed, from when the server took the
/// schedule. The command ends at Ctrl-C or when another consumer takes one of the routes.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay listen service-A service-B --json")]
pub(super) struct Listen {
    /// The routes.
    #[arg(required = true, value_name = "ROUTE")]
    routes: Vec<String>,
    /// Maximum number of unacknowledged deliveries. Default: the server's credit; with --count, 1.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    credit: Option<u16>,
    /// Take the routes from all other consumers.
    #[arg(long)]
    exclusive: bool,
    /// Print payloads that the server has decompressed. A task whose payload cannot be decompressed
    /// becomes a dead letter. Default: print payloads as they are stored.
    #[arg(long)]
    decompress: bool,
    /// End after this number of deliveries.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print a line of JSON for each delivery.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Listen {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let end = signal::shutdown_signal()?;
        let client = match self.decompress {
            true => self.remote.connect_with(|builder| builder).await?,
            false => self.remote.connect().await?,
        };
        let listened = tokio::select! {
            listened = self.listen(&client) => listened,
            () = end => Ok(()),
        };
        // Gives back what was not printed.
        let closed = client.close().await;
        listened?;
        Ok(closed?)
    }

    async fn listen(&self, client: &Client) -> Result<(), CommandError> {
        // With a credit of 1, the server never sends a delivery that --count leaves unprinted.
        let credit = self.credit.or(self.count.map(|_| 1));
        let (sender, mut queue) = mpsc::channel(1);
        let mut routes = tokio::task::JoinSet::new();
        for route in &self.routes {
            let mut subscribe = client.deliveries(route.clone());
            if let Some(credit) = credit {
                subscribe = subscribe.credit(credit);
            }
            if self.exclusive {
                subscribe = subscribe.exclusive();
            }
            routes.spawn(forward(subscribe.await?, sender.clone()));
        }
        drop(sender);
        let mut left = self.count;
        loop {
            let delivery = tokio::select! {
                biased;
                Some(delivery) = queue.recv() => delivery,
                Some(ended) = routes.join_next() => {
                    return Ok(ended.expect("forwarding does not panic")?);
                }
                else => return Ok(()),
            };
            let line = self.line(&delivery)?;
            // A pipe that nothing reads blocks the thread that prints, and must not block this one.
            let printed = tokio::task::spawn_blocking(move || print(&line));
            printed.await.expect("printing does not panic")?;
            left = left.map(|left| left - 1);
            if left == Some(0) {
                // Unregisters first, so that this ack does not free credit for another delivery.
                routes.shutdown().await;
                delivery.ack_confirmed().await?;
                return Ok(());
            }
            delivery.ack();
        }
    }

    /// Returns what is printed of a delivery.
    fn line(&self, delivery: &Delivery) -> Result<String, CommandError> {
        let late = delivery.lateness();
        let text = std::str::from_utf8(delivery.payload());
        if self.json {
            return to_json(&in_json(delivery, text.ok(), late));
        }
        let payload = match text {
            Ok(text) => text.to_owned(),
            Err(_) => format!("base64:{}", STANDARD.encode(delivery.payload())),
        };
        Ok(format!(
            "{} {} attempt {}, {} late: {payload}",
            delivery.route(),
            delivery.id(),
            delivery.attempt(),
            time_format::format_millis(late),
        ))
    }
}

fn in_json(delivery: &Delivery, text: Option<&str>, late: Duration) -> serde_json::Value {
    let mut line = json!({
        "id": delivery.id(),
        "route_key": delivery.route(),
        "fire_at": delivery.fire_at_millis(),
        "compression": delivery.compression().as_str(),
        "attempt": delivery.attempt(),
        "late_ms": late.as_secs_f64() * 1_000.0,
    });
    if delivery.due_millis() != delivery.fire_at_millis() {
        line["due"] = delivery.due_millis().into();
    }
    let headers: serde_json::Map<_, _> = delivery
        .headers()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    if !headers.is_empty() {
        line["headers"] = headers.into();
    }
    match text {
        Some(text) => line["payload"] = text.into(),
        None => line["payload_base64"] = STANDARD.encode(delivery.payload()).into(),
    }
    line
}

/// Forwards the deliveries of a route until the subscription or the queue ends.
async fn forward(
    mut deliveries: Deliveries,
    queue: mpsc::Sender<Unanswered>,
) -> Result<(), ListenError> {
    while let Some(delivery) = deliveries.next().await {
        // The command can end before it has printed it.
        if queue.send(delivery.unharmed_if_dropped()).await.is_err() {
            break;
        }
    }
    deliveries.outcome()
}
