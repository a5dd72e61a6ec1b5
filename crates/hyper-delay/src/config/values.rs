//! The fields of the configuration.

use std::{
    collections::BTreeMap,
    fmt,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Serialize, Serializer};

use super::{AllowedHosts, Sync, hedge};

/// What the server is told before it starts, all of it checked.
///
/// [`Display`](fmt::Display) prints it as a file that says the same.
///
/// ```
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
    /// The folder of the store; made if it is not there. Relative to the working directory. Default `"data/db"`.
    #[serde(serialize_with = "shown")]
    pub data_dir: PathBuf,
    /// Where to listen: an address and a port, 0 for any that is free. Default `"127.0.0.1:7000"`.
    pub bind_addr: SocketAddr,
    /// Who may connect: addresses and CIDR ranges. Empty means the default, `["127.0.0.1", "::1"]`.
    pub allowed_hosts: AllowedHosts,
    /// How many connections may be open: 1 to 1,000,000. Default 10,000.
    pub max_connections: usize,
    /// The longest line in bytes, its end not counted: 1,024 to 16,777,216. Default 65,536.
    pub max_line_bytes: usize,
    /// How many requests of one connection may be under way: 1 to 65,536. Default 256.
    pub connection_write_channel: usize,
    /// What an ack promises. Default `"always"`.
    pub sync: Sync,
    /// The largest size of the file `reserve` in `data_dir`, which holds room for a full disk, in
    /// mebibytes: 0 to 1,048,576. Default 1,024.
    pub disk_reserve_mib: u64,
    /// The resolution of the timers in milliseconds: 1 to 1,000. Default 1.
    pub tick_ms: u64,
    /// How far ahead tasks are held in memory, in milliseconds: 1,000 to 86,400,000. Default 60,000.
    pub window_ms: u64,
    /// How many tasks are held in memory until they are due, at most: 1,000 to 100,000,000. Default 100,000.
    pub window_tasks: usize,
    /// How many due tasks of one route may wait in memory for a consumer to have room: 1 to 1,048,576. Default 2,048.
    pub ready_channel_capacity: usize,
    /// How far ahead a task may be scheduled, in days: 1 to 36,500. Default 3,650.
    pub max_delay_days: u64,
    /// How long a finished task is remembered, in seconds: 0 to 604,800. Default 300.
    pub dedupe_seconds: u64,
    /// How many deliveries may be in flight on a connection that does not say: 1 to 65,535. Default 256.
    pub credit: u16,
    /// How long a consumer has for its ack, in milliseconds: 1 to 86,400,000. Default 30,000.
    pub ack_timeout_ms: u64,
    /// The wait after the first failed round, in milliseconds: 1 to 86,400,000. Doubled with each. Default 1,000.
    pub retry_delay_ms: u64,
    /// The longest wait after a failed round, in milliseconds: `retry_delay_ms` to 86,400,000. Default 60,000.
    pub max_retry_delay_ms: u64,
    /// How many rounds may fail before a task is dead: 1 to 4,294,967,295, or null for any number. Default null.
    pub max_attempts: Option<u32>,
    /// After how many milliseconds the next connection gets a copy: 1 to less than `ack_timeout_ms`, by route, or by prefix
    /// for a key that ends with `*`. [`hedge_of`](Self::hedge_of) says which counts. Default none.
    pub hedge: BTreeMap<String, u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::from("data/db"),
            bind_addr: (Ipv4Addr::LOCALHOST, 7_000).into(),
            allowed_hosts: AllowedHosts::default(),
            max_connections: 10_000,
            max_line_bytes: 65_536,
            connection_write_channel: 256,
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
            hedge: BTreeMap::new(),
        }
    }
}

impl Config {
    /// After how long the next connection gets a copy of a task of this route, if it is hedged.
    ///
    /// A key that is the route counts first, then the longest prefix.
    #[must_use]
    pub fn hedge_of(&self, route: &str) -> Option<Duration> {
        hedge::delay(&self.hedge, route).map(Duration::from_millis)
    }

    /// The configuration as a file that says the same, with every field.
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

/// A path that no file could have named is shown as well as it can be.
fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
