//! Parses the fields, and checks the range of each.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, str::FromStr};

use serde_json::{Value, json};

use super::{
    AllowedHosts, Config, ConfigError, HttpHosts, LogFormat, Sync, cluster, cluster_checks, hedge,
    json_object::{ConfigFields, DAY_MS, number, path},
    quotas, route_patterns, routes, sync, tls,
};

impl Config {
    /// Reads a configuration; `file` is its name in errors.
    ///
    /// # Errors
    ///
    /// If it is not one JSON object, names an unknown field or the same field twice, or has a value
    /// out of range.
    pub fn from_json(file: &str, json: &str) -> Result<Self, ConfigError> {
        let config = Self::parse_unexposed(file, json)?;
        config.check_exposure(file)?;
        Ok(config)
    }

    /// Like [`from_json`](Self::from_json), for a configuration whose `bind_addr` can still change:
    /// [`check_exposure`](Self::check_exposure) is left to the caller.
    pub(super) fn parse_unexposed(file: &str, json: &str) -> Result<Self, ConfigError> {
        let mut fields = ConfigFields::read(file, json)?;
        let config = Self::take_all(&mut fields)?;
        config.check(&fields)?;
        fields.finish()?;
        Ok(config)
    }

    fn take_all(f: &mut ConfigFields<'_>) -> Result<Self, ConfigError> {
        let default = Self::default();
        let ms = "milliseconds";
        Ok(Self {
            data_dir: f.take("data_dir", default.data_dir, folder)?,
            bind_addr: f.take("bind_addr", default.bind_addr, address)?,
            http_addr: f.nullable("http_addr", default.http_addr, http_address)?,
            http_hosts: f.take("http_hosts", default.http_hosts, http_hosts)?,
            allowed_hosts: f.take("allowed_hosts", default.allowed_hosts, hosts)?,
            tls: f.take("tls", default.tls, |value| tls::read(value).map(Some))?,
            tokens: f.take("tokens", default.tokens, |value| file(value).map(Some))?,
            open: f.take("open", default.open, flag)?,
            cluster: f.take("cluster", default.cluster, |value| {
                cluster::parse(value).map(Some)
            })?,
            max_connections: f.number(
                "max_connections",
                default.max_connections,
                "a number",
                1..=1_000_000,
            )?,
            reserved_connections: f.number(
                "reserved_connections",
                default.reserved_connections,
                "a number",
                0..=1_024,
            )?,
            max_line_bytes: f.number(
                "max_line_bytes",
                default.max_line_bytes,
                "bytes",
                1_024..=1 << 24,
            )?,
            max_unfinished_bytes: f.number(
                "max_unfinished_bytes",
                default.max_unfinished_bytes,
                "bytes",
                262_144..=1 << 36,
            )?,
            max_routes_per_connection: f.number(
                "max_routes_per_connection",
                default.max_routes_per_connection,
                "a number",
                1..=1_000_000,
            )?,
            max_routes: f.number(
                "max_routes",
                default.max_routes,
                "a number",
                1..=100_000_000,
            )?,
            connection_write_channel: f.number(
                "connection_write_channel",
                default.connection_write_channel,
                "a number",
                1..=65_536,
            )?,
            idle_timeout_seconds: f.take(
                "idle_timeout_seconds",
                default.idle_timeout_seconds,
                |value| number(value, "seconds", 1..=604_800).map(Some),
            )?,
            keepalive_seconds: f.number(
                "keepalive_seconds",
                default.keepalive_seconds,
                "seconds",
                1..=3_600,
            )?,
            user_timeout_seconds: f.number(
                "user_timeout_seconds",
                default.user_timeout_seconds,
                "seconds",
                1..=3_600,
            )?,
            sync: f.take("sync", default.sync, sync_mode)?,
            disk_reserve_mib: f.number(
                "disk_reserve_mib",
                default.disk_reserve_mib,
                "mebibytes",
                0..=1 << 20,
            )?,
            tick_ms: f.number("tick_ms", default.tick_ms, ms, 1..=1_000)?,
            window_ms: f.number("window_ms", default.window_ms, ms, 1_000..=DAY_MS)?,
            window_tasks: f.number(
                "window_tasks",
                default.window_tasks,
                "a number",
                1_000..=100_000_000,
            )?,
            ready_channel_capacity: f.number(
                "ready_channel_capacity",
                default.ready_channel_capacity,
                "a number",
                1..=1 << 20,
            )?,
            max_delay_days: f.number(
                "max_delay_days",
                default.max_delay_days,
                "days",
                1..=36_500,
            )?,
            dedupe_seconds: f.number(
                "dedupe_seconds",
                default.dedupe_seconds,
                "seconds",
                0..=604_800,
            )?,
            credit: f.number("credit", default.credit, "a number", 1..=u16::MAX.into())?,
            ack_timeout_ms: f.number("ack_timeout_ms", default.ack_timeout_ms, ms, 1..=DAY_MS)?,
            retry_delay_ms: f.number("retry_delay_ms", default.retry_delay_ms, ms, 1..=DAY_MS)?,
            max_retry_delay_ms: f.number(
                "max_retry_delay_ms",
                default.max_retry_delay_ms,
                ms,
                1..=DAY_MS,
            )?,
            max_attempts: f.take("max_attempts", default.max_attempts, |value| {
                number(value, "a number", 1..=u32::MAX.into()).map(Some)
            })?,
            dead_retention_seconds: f.take(
                "dead_retention_seconds",
                default.dead_retention_seconds,
                |value| number(value, "seconds", 1..=315_360_000).map(Some),
            )?,
            hedge: f.take("hedge", default.hedge, hedges)?,
            quotas: f.take("quotas", default.quotas, quotas::read)?,
            routes: f.take("routes", default.routes, routes::read)?,
            log_format: f.take("log_format", default.log_format, LogFormat::read)?,
        })
    }

    /// Checks that the server may listen on `bind_addr`, and that `http_addr` and the address of
    /// `cluster` are others. `source` names the configuration in errors.
    pub(super) fn check_exposure(&self, source: &str) -> Result<(), ConfigError> {
        cluster_checks::check_address(self).map_err(|(value, cure)| ConfigError::BadField {
            file: source.to_owned(),
            field: "cluster.bind_addr".to_owned(),
            value: json!(value).to_string(),
            cure,
        })?;
        if self.http_addr == Some(self.bind_addr) && self.bind_addr.port() != 0 {
            return Err(ConfigError::BadField {
                file: source.to_owned(),
                field: "http_addr".to_owned(),
                value: json!(self.bind_addr).to_string(),
                cure: "bind_addr is the same: give them different ports, or set http_addr to null \
                       to turn HTTP off"
                    .to_owned(),
            });
        }
        match self.exposure(self.bind_addr) {
            Ok(_) => Ok(()),
            Err(exposed) => Err(ConfigError::BadField {
                file: source.to_owned(),
                field: "bind_addr".to_owned(),
                value: json!(self.bind_addr).to_string(),
                cure: exposed.to_string(),
            }),
        }
    }

    /// Checks fields against each other.
    fn check(&self, fields: &ConfigFields<'_>) -> Result<(), ConfigError> {
        if self.max_retry_delay_ms < self.retry_delay_ms {
            let cure = format!(
                "give at least retry_delay_ms, which is {}",
                self.retry_delay_ms
            );
            return Err(fields.bad_field(
                "max_retry_delay_ms",
                &json!(self.max_retry_delay_ms),
                cure,
            ));
        }
        if self.max_unfinished_bytes < 4 * self.max_line_bytes {
            let cure = format!(
                "give at least four times max_line_bytes, which is {}",
                self.max_line_bytes
            );
            return Err(fields.bad_field(
                "max_unfinished_bytes",
                &json!(self.max_unfinished_bytes),
                cure,
            ));
        }
        if self.cluster.is_some() {
            cluster_checks::check(self)
                .map_err(|(field, value, cure)| fields.bad_field(field, &value, cure))?;
        }
        self.check_hedge(fields)
    }

    /// Checks that a copy is sent before the round ends. A prefix stands for the routes that have
    /// no longer key.
    fn check_hedge(&self, fields: &ConfigFields<'_>) -> Result<(), ConfigError> {
        for key in self.hedge.keys().chain(self.routes.keys()) {
            let Some(delay) = hedge::delay(&self.hedge, key) else {
                continue;
            };
            let timeout = self.terms_of(key).ack_timeout_ms;
            let timeout = timeout.unwrap_or(self.ack_timeout_ms);
            if delay >= timeout {
                let cure = format!("give less than ack_timeout_ms, which is {timeout}");
                return Err(fields.bad_field(&format!("hedge of {key:?}"), &json!(delay), cure));
            }
        }
        Ok(())
    }
}

fn folder(value: &Value) -> Result<PathBuf, String> {
    path(value).ok_or_else(|| "give the path of a folder".to_owned())
}

fn file(value: &Value) -> Result<PathBuf, String> {
    path(value)
        .ok_or_else(|| "give the path of a file that `hyper-delay token new` has made".to_owned())
}

fn flag(value: &Value) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| "give true or false".to_owned())
}

fn address(value: &Value) -> Result<SocketAddr, String> {
    parse_address(value.as_str().unwrap_or_default())
}

/// Reads an address and a port.
///
/// # Errors
///
/// If it is none. The text is the cure.
pub fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "give an address and a port such as \"127.0.0.1:7000\" or \"[::1]:7000\" (names are not \
         looked up)"
            .to_owned()
    })
}

fn http_address(value: &Value) -> Result<SocketAddr, String> {
    address(value).map_err(|_| {
        "give an address and a port such as \"127.0.0.1:7001\" or \"[::1]:7001\" (names are not \
         looked up), or null to turn it off"
            .to_owned()
    })
}

fn sync_mode(value: &Value) -> Result<Sync, String> {
    let mode = value.as_str().and_then(Sync::parse);
    mode.ok_or_else(|| sync::WANTED.to_owned())
}

fn hosts(value: &Value) -> Result<AllowedHosts, String> {
    entries(value, "give a list of addresses and ranges").map(AllowedHosts::new)
}

fn http_hosts(value: &Value) -> Result<HttpHosts, String> {
    entries(value, "give a list of names and addresses").map(HttpHosts::new)
}

/// Parses the strings of a list. `cure` is the error of what is not a list.
fn entries<T: FromStr<Err = String>>(value: &Value, cure: &str) -> Result<Vec<T>, String> {
    let parsed = |entry: &Value| {
        let text = entry.as_str().unwrap_or_default();
        text.parse()
            .map_err(|cure| format!("{entry} in it: {cure}"))
    };
    value.as_array().ok_or(cure)?.iter().map(parsed).collect()
}

fn hedges(value: &Value) -> Result<BTreeMap<String, u64>, String> {
    route_patterns::read(
        value,
        "give an object of routes or prefixes with their delays",
        |delay| number(delay, "milliseconds", 1..=DAY_MS),
    )
}

#[cfg(test)]
mod tests;
