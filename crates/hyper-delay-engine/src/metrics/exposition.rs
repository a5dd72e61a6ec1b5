//! The metrics as text in the format of OpenMetrics.

use std::{fmt, sync::Arc};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeGaugeValue, MetricEncoder, NoLabelSet, text::encode},
    metrics::MetricType,
    registry::{Registry, Unit},
};

use super::{
    Counter, Gauges, Histogram, HttpConnections, Metrics,
    gauge_reader::OTHER,
    gauges::{RouteGauges, ShardGauges},
};
use crate::dropped_log_lines;

/// The media type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the text.
///
/// # Errors
///
/// Never: a string takes all of it.
pub fn text(
    metrics: Arc<Metrics>,
    gauges: Arc<Gauges>,
    http: HttpConnections,
) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("hyper_delay");
    registry.register_collector(Box::new(Exposition {
        metrics,
        gauges,
        http,
    }));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Exposition {
    metrics: Arc<Metrics>,
    gauges: Arc<Gauges>,
    http: HttpConnections,
}

impl Collector for Exposition {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        self.counters(&mut families)?;
        self.tasks(&mut families)?;
        self.server(&mut families)?;
        self.shards(&mut families)?;
        self.histograms(&mut families)
    }
}

impl Exposition {
    fn counters(&self, families: &mut Families<'_>) -> fmt::Result {
        let Metrics {
            scheduled,
            replaced,
            repeated,
            deliveries,
            retries,
            acks,
            nacks,
            unknown_answers,
            dead_letters,
            expired,
            removed_by_age,
            wrong_tokens,
            failed_handshakes,
            ..
        } = &*self.metrics;
        let results = [
            ("new", scheduled.value()),
            ("replaced", replaced.value()),
            ("repeated", repeated.value()),
        ];
        let help = "Schedules that were accepted and are on disk.";
        families.counters("schedules", help, "result", results)?;
        let help = "Copies of tasks that were sent to a consumer.";
        families.counter("deliveries", help, deliveries)?;
        let help = "Failed rounds after which the task waits for another one.";
        families.counter("retries", help, retries)?;
        families.counter("acks", "Acks that removed a task.", acks)?;
        families.counter("nacks", "Deliveries that a consumer gave back.", nacks)?;
        let help = "Acks and nacks without a matching delivery.";
        families.counter("unknown_answers", help, unknown_answers)?;
        let help = "Tasks that became dead letters.";
        families.counter("dead_letters", help, dead_letters)?;
        let help = "Tasks that were removed because their expires_at had passed.";
        families.counter("expired", help, expired)?;
        let help = "Dead letters that were removed because of dead_retention_seconds.";
        families.counter("dead_letters_removed_by_age", help, removed_by_age)?;
        let help = "Tokens of clients that were wrong or revoked.";
        families.counter("wrong_tokens", help, wrong_tokens)?;
        let help = "TLS handshakes that failed or took too long.";
        families.counter("failed_handshakes", help, failed_handshakes)?;
        let help = "Requests and connections that were refused.";
        families.counters("refusals", help, "reason", self.metrics.refusals())?;
        let help = "Lines of the log that were not written.";
        families.counters(
            "log_lines_dropped",
            help,
            "kind",
            dropped_log_lines::counts(),
        )
    }

    fn tasks(&self, families: &mut Families<'_>) -> fmt::Result {
        let mut by_route = |name, help, value: fn(&RouteGauges) -> u64| {
            let other = (OTHER, value(&self.gauges.other));
            let routes = self.gauges.routes.iter();
            let routes = routes.map(|(route, row)| (&**route, value(row)));
            families.gauges(name, help, "route", routes.chain([other]))
        };
        let help = "Tasks that are not finished and not dead.";
        by_route("pending_tasks", help, |row| row.pending)?;
        let help = "Waiting tasks that are due within a minute.";
        by_route("due_within_minute_tasks", help, |row| row.due_soon)?;
        let help = "Tasks that are due and with no consumer.";
        by_route("ready_tasks", help, |row| row.ready)?;
        let help = "Tasks that are with a consumer.";
        by_route("in_flight_tasks", help, |row| row.in_flight)?;
        let help = "Waiting and parked tasks whose last round has failed.";
        by_route("retrying_tasks", help, |row| row.retrying)?;
        by_route("dead_tasks", "Dead letters.", |row| row.dead)
    }

    fn server(&self, families: &mut Families<'_>) -> fmt::Result {
        let help = "1 if due_within_minute_tasks counts all such tasks, 0 if there are more.";
        let is_exact = u64::from(self.gauges.is_due_soon_exact);
        families.gauge("due_within_minute_exact", help, None, is_exact)?;
        if let Some(expiry) = self.metrics.tls_expiry() {
            let help = "When the certificate of the server expires, in Unix time.";
            families.gauge("tls_expiry_timestamp", help, Some(Unit::Seconds), expiry)?;
        }
        let help = "The longest wait of a due task without a consumer.";
        let overdue = self.gauges.oldest_overdue as f64 / 1e3;
        families.gauge("oldest_overdue", help, Some(Unit::Seconds), overdue)?;
        let help = "The same of paused routes, which do not count there.";
        let paused = self.gauges.oldest_paused as f64 / 1e3;
        families.gauge("oldest_paused", help, Some(Unit::Seconds), paused)?;
        let help = "The size of the store's files.";
        let bytes = self.gauges.store_bytes;
        families.gauge("store", help, Some(Unit::Bytes), bytes)?;
        let listeners = [
            ("tcp", self.gauges.connections),
            ("http", self.http.0 as u64),
        ];
        families.gauges("connections", "Open connections.", "listener", listeners)
    }

    /// The shards of a cluster.
    fn shards(&self, families: &mut Families<'_>) -> fmt::Result {
        let shards = &self.gauges.shards;
        if shards.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = (0..shards.len()).map(|shard| shard.to_string()).collect();
        let mut by_shard = |name, help, value: fn(&ShardGauges) -> u64| {
            let values = names.iter().map(String::as_str);
            let values = values.zip(shards.iter().map(value));
            families.gauges(name, help, "shard", values)
        };
        let help = "1 if this node leads the shard, else 0.";
        by_shard("shard_led", help, |shard| u64::from(shard.is_led))?;
        let help = "1 if the shard has stopped on this node, else 0.";
        by_shard("shard_stopped", help, |shard| u64::from(shard.has_stopped))?;
        let help = "The last entry of the shard's journal that this node has applied.";
        by_shard("shard_applied_entry", help, |shard| shard.applied)?;
        let help = "The last entry of the shard's journal that this node has synced to its disk.";
        by_shard("shard_synced_entry", help, |shard| shard.synced)
    }

    fn histograms(&self, families: &mut Families<'_>) -> fmt::Result {
        let seconds = || Some(Unit::Seconds);
        let help = "From the time a task is due to the start of a round.";
        families.histogram("lateness", help, seconds(), &self.metrics.lateness)?;
        let help = "From the start of a round to the ack.";
        families.histogram("ack", help, seconds(), &self.metrics.ack_time)?;
        let help = "From the start of a write to the disk to its end, sync included.";
        families.histogram("commit", help, seconds(), &self.metrics.commit_time)?;
        let help = "Changes of tasks in one write to the disk.";
        families.histogram("batch_size", help, None, &self.metrics.batch_size)
    }
}

/// Encodes families of metrics.
struct Families<'a>(DescriptorEncoder<'a>);

impl Families<'_> {
    fn counter(&mut self, name: &str, help: &str, count: &Counter) -> fmt::Result {
        let kind = MetricType::Counter;
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        encoder.encode_counter::<NoLabelSet, _, u64>(&count.value(), None)
    }

    fn counters<'v>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl IntoIterator<Item = (&'v str, u64)>,
    ) -> fmt::Result {
        let kind = MetricType::Counter;
        let encoder = self.0.encode_descriptor(name, help, None, kind)?;
        labelled(encoder, label, values, |encoder, value| {
            encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
        })
    }

    fn gauge(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        value: impl EncodeGaugeValue,
    ) -> fmt::Result {
        let kind = MetricType::Gauge;
        let unit = unit.as_ref();
        let mut encoder = self.0.encode_descriptor(name, help, unit, kind)?;
        encoder.encode_gauge(&value)
    }

    fn gauges<'v>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl IntoIterator<Item = (&'v str, u64)>,
    ) -> fmt::Result {
        let kind = MetricType::Gauge;
        let encoder = self.0.encode_descriptor(name, help, None, kind)?;
        labelled(encoder, label, values, |encoder, value| {
            encoder.encode_gauge(&value)
        })
    }

    fn histogram(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        histogram: &Histogram,
    ) -> fmt::Result {
        let kind = MetricType::Histogram;
        let unit = unit.as_ref();
        let mut encoder = self.0.encode_descriptor(name, help, unit, kind)?;
        let buckets = histogram.buckets();
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(histogram.sum(), count, &buckets, None)
    }
}

/// Encodes a sample for each value of a label.
fn labelled<'v>(
    mut encoder: MetricEncoder<'_>,
    label: &'static str,
    values: impl IntoIterator<Item = (&'v str, u64)>,
    encode: impl Fn(&mut MetricEncoder<'_>, u64) -> fmt::Result,
) -> fmt::Result {
    for (name, value) in values {
        let labels = [(label, name)];
        encode(&mut encoder.encode_family(&labels)?, value)?;
    }
    Ok(())
}
