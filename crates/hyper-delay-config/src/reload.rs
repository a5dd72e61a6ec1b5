//! Fields that a running server can change.

use serde_json::Value;

use super::Config;

/// Fields that are read only at start.
const RESTART: [&str; 9] = [
    "data_dir",
    "bind_addr",
    "http_addr",
    "cluster",
    "sync",
    "disk_reserve_mib",
    "tick_ms",
    "dedupe_seconds",
    "log_format",
];

/// Fields that a running server applies.
#[cfg(test)]
const LIVE: [&str; 28] = [
    "http_hosts",
    "allowed_hosts",
    "tls",
    "tokens",
    "open",
    "max_connections",
    "reserved_connections",
    "max_line_bytes",
    "max_unfinished_bytes",
    "max_routes_per_connection",
    "max_routes",
    "connection_write_channel",
    "idle_timeout_seconds",
    "keepalive_seconds",
    "user_timeout_seconds",
    "window_ms",
    "window_tasks",
    "ready_channel_capacity",
    "max_delay_days",
    "credit",
    "ack_timeout_ms",
    "retry_delay_ms",
    "max_retry_delay_ms",
    "max_attempts",
    "dead_retention_seconds",
    "hedge",
    "quotas",
    "routes",
];

/// The names of fields that differ between two configurations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Changes {
    /// Fields that take effect without a restart.
    pub applied: Vec<String>,
    /// Fields that take effect after a restart.
    pub restart: Vec<String>,
}

impl Config {
    /// Returns the configuration that a server with this one has after it has loaded `new`, and
    /// the fields that differ.
    ///
    /// Fields that need a restart keep their values: `data_dir`, `bind_addr`, `http_addr`,
    /// `cluster`, `sync`, `disk_reserve_mib`, `tick_ms`, `dedupe_seconds` and `log_format`.
    ///
    /// ```
    /// # mod hyper_delay { pub use hyper_delay_config as config; }
    /// use hyper_delay::config::Config;
    ///
    /// let old = Config::default();
    /// let new = Config::from_json("new", r#"{"credit": 5, "tick_ms": 10}"#).unwrap();
    /// let (config, changes) = old.reloaded(new);
    /// assert_eq!((config.credit, config.tick_ms), (5, 1));
    /// assert_eq!(changes.applied, ["credit"]);
    /// assert_eq!(changes.restart, ["tick_ms"]);
    /// ```
    #[must_use]
    pub fn reloaded(&self, new: Self) -> (Self, Changes) {
        let mut changes = Changes::default();
        if let (Ok(Value::Object(old)), Ok(Value::Object(new))) =
            (serde_json::to_value(self), serde_json::to_value(&new))
        {
            for (field, value) in new {
                if old.get(&field) == Some(&value) {
                    continue;
                }
                match RESTART.contains(&field.as_str()) {
                    true => changes.restart.push(field),
                    false => changes.applied.push(field),
                }
            }
        }
        let config = Self {
            data_dir: self.data_dir.clone(),
            bind_addr: self.bind_addr,
            http_addr: self.http_addr,
            cluster: self.cluster.clone(),
            sync: self.sync,
            disk_reserve_mib: self.disk_reserve_mib,
            tick_ms: self.tick_ms,
            dedupe_seconds: self.dedupe_seconds,
            log_format: self.log_format,
            ..new
        };
        (config, changes)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Cluster, LogFormat, Sync};

    fn cluster() -> Cluster {
        Cluster {
            etcd: vec!["http://127.0.0.1:2379".to_owned()],
            node: "a".to_owned(),
            advertise: "127.0.0.1:7002".to_owned(),
            bind_addr: ([127, 0, 0, 1], 7_002).into(),
            lease_ms: 2_000,
            tls: None,
            etcd_tls: None,
            etcd_user: None,
        }
    }

    #[test]
    fn every_field_is_either_applied_or_needs_a_restart() {
        let Ok(Value::Object(fields)) = serde_json::to_value(Config::default()) else {
            panic!("a configuration is an object");
        };
        let mut listed = [&LIVE[..], &RESTART].concat();
        listed.sort_unstable();
        let mut fields: Vec<&str> = fields.keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(listed, fields);
    }

    #[test]
    fn the_documentation_names_the_fields_that_need_a_restart() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../hyper-delay/CONFIGURATION.md"
        );
        let text = std::fs::read_to_string(file).unwrap();
        let (_, rest) = text.split_once("applies all fields except").unwrap();
        let (sentence, _) = rest.split_once('.').unwrap();
        let mut named: Vec<&str> = sentence.split('`').skip(1).step_by(2).collect();
        let mut fields = RESTART.to_vec();
        named.sort_unstable();
        fields.sort_unstable();
        assert_eq!(named, fields);

        let (_, rest) = text.split_once("Open connections keep").unwrap();
        let (sentences, _) = rest.split_once("\n\n").unwrap();
        let named = sentences.split('`').skip(1).step_by(2);
        for field in named {
            assert!(LIVE.contains(&field), "{field} is not applied");
        }
    }

    #[test]
    fn the_same_configuration_changes_nothing() {
        let config = Config::default();
        let expected = (config.clone(), Changes::default());
        assert_eq!(config.reloaded(config.clone()), expected);
    }

    #[test]
    fn every_field_that_needs_a_restart_keeps_its_value() {
        let old = Config::default();
        let new = Config {
            data_dir: "elsewhere".into(),
            bind_addr: ([127, 0, 0, 1], 1).into(),
            http_addr: None,
            cluster: Some(cluster()),
            sync: Sync::Interval(Duration::from_secs(1)),
            disk_reserve_mib: 7,
            tick_ms: 7,
            dedupe_seconds: 7,
            log_format: LogFormat::Json,
            ..old.clone()
        };
        let (config, changes) = old.reloaded(new);
        assert_eq!(config, old);
        assert!(changes.applied.is_empty());
        let mut restart = changes.restart;
        let mut fields = RESTART.to_vec();
        restart.sort_unstable();
        fields.sort_unstable();
        assert_eq!(restart, fields);
    }
}
