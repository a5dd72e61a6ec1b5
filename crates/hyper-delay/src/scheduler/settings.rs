use std::{sync::Arc, time::Duration};

use crate::config::Config;

/// What of the configuration concerns the scheduler.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(super) tick_millis: u64,
    pub(super) window_millis: u64,
    pub(super) window_tasks: usize,
    /// Due tasks of one route that wait in memory for a consumer to have room.
    pub(super) ready: usize,
    pub(super) credit: u16,
    pub(super) ack_timeout: Duration,
    pub(super) retry_delay_millis: u64,
    pub(super) max_retry_delay_millis: u64,
    pub(super) max_attempts: Option<u32>,
    pub(super) max_line_bytes: usize,
    /// Registrations of one connection, and of all.
    pub(super) max_routes_per_connection: usize,
    pub(super) max_routes: usize,
    pub(super) max_delay_millis: u64,
    pub(super) config: Arc<Config>,
}

impl From<Arc<Config>> for Settings {
    fn from(config: Arc<Config>) -> Self {
        Self {
            tick_millis: config.tick_ms,
            window_millis: config.window_ms,
            window_tasks: config.window_tasks,
            ready: config.ready_channel_capacity,
            credit: config.credit,
            ack_timeout: Duration::from_millis(config.ack_timeout_ms),
            retry_delay_millis: config.retry_delay_ms,
            max_retry_delay_millis: config.max_retry_delay_ms,
            max_attempts: config.max_attempts,
            max_line_bytes: config.max_line_bytes,
            max_routes_per_connection: config.max_routes_per_connection,
            max_routes: config.max_routes,
            max_delay_millis: config.max_delay_days.saturating_mul(86_400_000),
            config,
        }
    }
}
