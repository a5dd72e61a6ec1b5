use std::{sync::Arc, time::Duration};

use super::task::TaskInMemory;
use crate::{ledger::PendingLimits, release::Release, sizes::Sizes};
use hyper_delay_config::{Config, Quota};
use hyper_delay_protocol::{Terms, access::Grant};

/// The part of the configuration that concerns the scheduler.
#[derive(Debug, Clone)]
pub struct SchedulerSettings {
    pub(super) tick_millis: u64,
    /// The length of the near future that is held in memory.
    pub(super) window_millis: u64,
    /// The number of waiting tasks held in memory.
    pub(super) window_tasks: usize,
    /// The number of due tasks of one route that wait in memory for a consumer to have room.
    pub(super) ready: usize,
    pub(super) ack_timeout: Duration,
    pub(super) retry_delay_millis: u64,
    pub(super) max_retry_delay_millis: u64,
    pub(super) max_attempts: Option<u32>,
    pub(super) dead_retention_millis: Option<u64>,
    pub(super) max_line_bytes: usize,
    pub(super) max_delay_millis: u64,
    pub(super) sizes: Sizes,
    pub(super) release: Release,
    config: Arc<Config>,
}

/// The settings for the deliveries of a route. A route with consumers keeps them, so that a
/// delivery does not look its route up in the configuration.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RouteSettings {
    /// The delay after which another consumer gets a copy.
    pub(super) hedge: Option<Duration>,
    /// The time to answer a delivery of a task without a time of its own.
    pub(super) ack_timeout: Duration,
    pub(super) deliveries_per_second: Option<u32>,
}

impl SchedulerSettings {
    /// Returns the settings of one of the schedulers of a cluster's node. Memory is divided among
    /// them.
    #[must_use]
    pub fn for_shard(&self, shards: u16) -> Self {
        Self {
            window_tasks: (self.window_tasks / usize::from(shards)).max(1),
            ..self.clone()
        }
    }

    /// Returns how many tasks in memory may wait for their consumers to rest no longer.
    pub(super) fn most_resting(&self) -> usize {
        (self.window_tasks / 4).max(1)
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Returns the same settings with other sizes.
    #[must_use]
    pub fn with_sizes(self, sizes: Sizes) -> Self {
        Self { sizes, ..self }
    }

    /// Returns how much is read, kept or done at once.
    #[must_use]
    pub const fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Returns the same settings for an engine that behaves like a release.
    #[must_use]
    pub fn with_release(self, release: Release) -> Self {
        Self { release, ..self }
    }

    /// Returns the release that the engine behaves like.
    #[must_use]
    pub const fn release(&self) -> Release {
        self.release
    }

    /// Takes over new settings. The resolution of the timers, the sizes and the release stay.
    pub(super) fn reload(&mut self, settings: Self) {
        *self = Self {
            tick_millis: self.tick_millis,
            sizes: self.sizes,
            release: self.release,
            ..settings
        };
    }

    /// Returns the settings for the deliveries of a route.
    pub(super) fn of_route(&self, route: &str) -> RouteSettings {
        let ack_timeout = self.config.terms_of(route).ack_timeout_ms;
        let deliveries = self.quota_of(route, |quota| quota.deliveries_per_second);
        RouteSettings {
            hedge: self.config.hedge_of(route),
            ack_timeout: ack_timeout.map_or(self.ack_timeout, Duration::from_millis),
            deliveries_per_second: deliveries.map(|(_, rate)| rate),
        }
    }

    /// Returns a quota of a route, and the key that has it.
    #[inline]
    pub(super) fn quota_of<T>(
        &self,
        route: &str,
        quota: impl Fn(&Quota) -> Option<T>,
    ) -> Option<(&str, T)> {
        self.config.quota_of(route, quota)
    }

    /// Returns how many pending tasks a route, and the routes of a token, may have.
    pub(super) fn most_pending(&self, route: &str, grant: Option<Arc<Grant>>) -> PendingLimits {
        let most = |quota: fn(&Quota) -> Option<u64>| {
            let found = self.quota_of(route, quota);
            found.map(|(_, most)| most)
        };
        PendingLimits {
            tasks: most(|quota| quota.pending),
            bytes: most(|quota| quota.pending_bytes),
            token: grant.filter(|it| it.pending.is_some() || it.pending_bytes.is_some()),
        }
    }

    /// Returns the terms that replace the settings of the server for a task: its own terms, and
    /// those of its route for the rest.
    pub(super) fn terms_of(&self, task: &TaskInMemory) -> Terms {
        let own = task.own_terms();
        match self.config.routes.is_empty() {
            true => own,
            false => own.or(self.config.terms_of(&task.route)),
        }
    }
}

impl From<Arc<Config>> for SchedulerSettings {
    fn from(config: Arc<Config>) -> Self {
        Self {
            tick_millis: config.tick_ms,
            window_millis: config.window_ms,
            window_tasks: config.window_tasks,
            ready: config.ready_channel_capacity,
            ack_timeout: Duration::from_millis(config.ack_timeout_ms),
            retry_delay_millis: config.retry_delay_ms,
            max_retry_delay_millis: config.max_retry_delay_ms,
            max_attempts: config.max_attempts,
            dead_retention_millis: config
                .dead_retention_seconds
                .map(|seconds| seconds.saturating_mul(1_000)),
            max_line_bytes: config.max_line_bytes,
            max_delay_millis: config.max_delay_days.saturating_mul(86_400_000),
            sizes: Sizes::SERVER,
            release: Release::default(),
            config,
        }
    }
}
