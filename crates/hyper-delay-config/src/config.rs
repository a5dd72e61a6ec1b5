//! The fields of the configuration, and their defaults.

use std::{
    collections::BTreeMap,
    fmt,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use serde::Serialize;

use hyper_delay_protocol::Terms;

use super::{
    AllowedHosts, Cluster, HttpHosts, LogFormat, Quota, Sync, TlsFiles, hedge, quotas,
    route_patterns,
    serialize_path::{serialize_optional_path, serialize_path},
};

/// The configuration of a server. Every value has been checked.
///
/// [`Display`](fmt::Display) prints it as a configuration file.
///
/// ```
/// # mod hyper_delay { pub use hyper_delay_config as config; }
/// use hyper_delay::config::Config;
///
/// let config = Config::from_json("config.json", r#"{"tick_ms": 10}"#).unwrap();
/// assert_eq!((config.tick_ms, config.credit), (10, 256));
/// assert_eq!(Config::from_json("again", &config.to_string()).unwrap(), config);
///
/// let error = Config::from_json("config.json", r#"{"tick_ms": 0}"#).unwrap_err();
/// assert_eq!(error.to_string(), "config.json: tick_ms is 0: give milliseconds from 1 to 1000");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Config {
    /// The folder of the store, made if it does not exist. Relative to the working directory.
    /// Default: `"data/db"`.
    #[serde(serialize_with = "serialize_path")]
    pub data_dir: PathBuf,
    /// The address and port to listen on; port 0 is any free one. Default: `"127.0.0.1:7000"`.
    pub bind_addr: SocketAddr,
    /// The address and port of the HTTP listener with health and metrics; port 0 is any free one,
    /// and null turns it off. Default: `"127.0.0.1:7001"`.
    pub http_addr: Option<SocketAddr>,
    /// The names and addresses under which the HTTP listener may be addressed. Empty means the
    /// default: `localhost` and the address that it is bound to.
    pub http_hosts: HttpHosts,
    /// The addresses and CIDR ranges that may connect. Empty means the default,
    /// `["127.0.0.1", "::1"]`.
    pub allowed_hosts: AllowedHosts,
    /// The files of TLS; null: connections are plain. Default: null.
    pub tls: Option<TlsFiles>,
    /// The file of tokens, which `hyper-delay token` makes; null: every client may do everything.
    /// Relative to the working directory. Default: null.
    #[serde(serialize_with = "serialize_optional_path")]
    pub tokens: Option<PathBuf>,
    /// Whether a server that other machines can reach may do without tokens and client
    /// certificates. Default: false.
    pub open: bool,
    /// The cluster to which the server belongs; null: it is alone. Needs the cargo feature
    /// `cluster`. Default: null.
    pub cluster: Option<Cluster>,
    /// The most open connections: 1 to 1,000,000. Default: 10,000.
    pub max_connections: usize,
    /// Connections beyond `max_connections` that are kept for operators on this machine: 0 to
    /// 1,024. Default: 4.
    pub reserved_connections: usize,
    /// The longest line in bytes, without its end: 1,024 to 16,777,216. Default: 65,536.
    pub max_line_bytes: usize,
    /// The most memory for the unfinished lines of all connections, in bytes: 262,144 to
    /// 68,719,476,736, and at least four times `max_line_bytes`. Default: 67,108,864.
    pub max_unfinished_bytes: usize,
    /// The most routes that one connection may register: 1 to 1,000,000. Default: 10,000.
    pub max_routes_per_connection: usize,
    /// The most routes that all connections may register: 1 to 100,000,000. A route counts once
    /// for each of its consumers. Default: 100,000.
    pub max_routes: usize,
    /// The most requests of one connection that are in flight: 1 to 65,536. Default: 256.
    pub connection_write_channel: usize,
    /// Seconds without a line after which a connection without routes, deliveries and requests
    /// in flight is closed: 1 to 604,800, or null for never. Default: null.
    pub idle_timeout_seconds: Option<u64>,
    /// Seconds of silence after which the system probes whether the peer is still there: 1 to
    /// 3,600. Default: 30.
    pub keepalive_seconds: u64,
    /// Seconds after which the system closes a connection whose peer does not confirm what was
    /// sent: 1 to 3,600. Linux only. Default: 30.
    pub user_timeout_seconds: u64,
    /// The durability of an acknowledged write. Default: `"always"`.
    pub sync: Sync,
    /// The largest size of the file `reserve` in `data_dir`, which holds room for a full disk, in
    /// mebibytes: 0 to 1,048,576. Default: 1,024.
    pub disk_reserve_mib: u64,
    /// The resolution of the timers in milliseconds: 1 to 1,000. Default: 1.
    pub tick_ms: u64,
    /// How far ahead tasks are held in memory, in milliseconds: 1,000 to 86,400,000.
    /// Default: 60,000.
    pub window_ms: u64,
    /// The most tasks that are held in memory until they are due: 1,000 to 100,000,000.
    /// Default: 100,000.
    pub window_tasks: usize,
    /// The most due tasks of one route that wait in memory for a consumer with room: 1 to
    /// 1,048,576. Default: 2,048.
    pub ready_channel_capacity: usize,
    /// How far ahead a task may be scheduled, in days: 1 to 36,500. Default: 3,650.
    pub max_delay_days: u64,
    /// How long a finished task is remembered, in seconds: 0 to 604,800. Default: 300.
    pub dedupe_seconds: u64,
    /// The most deliveries in flight on a connection that asks for no other number: 1 to 65,535.
    /// Default: 256.
    pub credit: u16,
    /// The time that a consumer has for its ack, in milliseconds: 1 to 86,400,000.
    /// Default: 30,000.
    pub ack_timeout_ms: u64,
    /// The wait after the first failed round, in milliseconds: 1 to 86,400,000. It doubles with
    /// each further one. Default: 1,000.
    pub retry_delay_ms: u64,
    /// The longest wait after a failed round, in milliseconds: `retry_delay_ms` to 86,400,000.
    /// Default: 60,000.
    pub max_retry_delay_ms: u64,
    /// The failed rounds after which a task is a dead letter: 1 to 4,294,967,295, or null for
    /// never. Default: null.
    pub max_attempts: Option<u32>,
    /// How long a dead letter is kept, in seconds: 1 to 315,360,000 (ten years), or null: until an
    /// operator kicks or deletes it. Default: null.
    pub dead_retention_seconds: Option<u64>,
    /// Milliseconds after which the next connection gets a copy: 1 to less than the
    /// `ack_timeout_ms` of the route, by route, or by prefix for a key that ends with `*`. See
    /// [`hedge_of`](Self::hedge_of). Default: none.
    pub hedge: BTreeMap<String, u64>,
    /// The quotas of a route, by route, or by prefix for a key that ends with `*`. See
    /// [`quota_of`](Self::quota_of). Default: none.
    pub quotas: BTreeMap<String, Quota>,
    /// Settings for the tasks of a route, instead of those above, by route, or by prefix
    /// for a key that ends with `*`. See [`terms_of`](Self::terms_of). Default: none.
    pub routes: BTreeMap<String, Terms>,
    /// The form of the log's lines. Default: `"text"`.
    pub log_format: LogFormat,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::from("data/db"),
            bind_addr: (Ipv4Addr::LOCALHOST, 7_000).into(),
            http_addr: Some((Ipv4Addr::LOCALHOST, 7_001).into()),
            http_hosts: HttpHosts::default(),
            allowed_hosts: AllowedHosts::default(),
            tls: None,
            tokens: None,
            open: false,
            cluster: None,
            max_connections: 10_000,
            reserved_connections: 4,
            max_line_bytes: 65_536,
            max_unfinished_bytes: 64 << 20,
            max_routes_per_connection: 10_000,
            max_routes: 100_000,
            connection_write_channel: 256,
            idle_timeout_seconds: None,
            keepalive_seconds: 30,
            user_timeout_seconds: 30,
            sync: Sync::Always,
            disk_reserve_mib: 1_024,
            tick_ms: 1,
            window_ms: 60_000,
            window_tasks: 100_000,
            ready_channel_capacity: 2_048,
            max_delay_days: 3_650,
            dedupe_seconds: 300,
            credit: 256,
            ack_timeout_ms: 30_000,
            retry_delay_ms: 1_000,
            max_retry_delay_ms: 60_000,
            max_attempts: None,
            dead_retention_seconds: None,
            hedge: BTreeMap::new(),
            quotas: BTreeMap::new(),
            routes: BTreeMap::new(),
            log_format: LogFormat::Text,
        }
    }
}

impl Config {
    /// Returns the time after which the next connection gets a copy of a task of this route, if the
    /// route is hedged.
    ///
    /// A key that equals the route takes precedence, then the longest prefix.
    #[must_use]
    pub fn hedge_of(&self, route: &str) -> Option<Duration> {
        hedge::delay(&self.hedge, route).map(Duration::from_millis)
    }

    /// Returns a quota of a route, and the key that has it.
    ///
    /// A key that equals the route takes precedence, then the longest prefix. A key without this
    /// quota does not count: the route has that of the next shorter one.
    #[inline]
    #[must_use]
    pub fn quota_of<T>(
        &self,
        route: &str,
        quota: impl Fn(&Quota) -> Option<T>,
    ) -> Option<(&str, T)> {
        // Most servers have none, and each request looks for several.
        if self.quotas.is_empty() {
            return None;
        }
        quotas::find(&self.quotas, route, quota)
    }

    /// Returns what applies to the tasks of a route instead of the settings of the server.
    ///
    /// Each setting is that of the key that equals the route, or else of the longest prefix that
    /// has it.
    #[must_use]
    pub fn terms_of(&self, route: &str) -> Terms {
        let found = route_patterns::matching(&self.routes, route);
        found.fold(Terms::default(), |terms, (_, more)| terms.or(*more))
    }

    /// Returns the configuration as a file with every field.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?)
    }
}
