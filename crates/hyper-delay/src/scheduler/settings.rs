use std::{sync::Arc, time::Duration};

use super::Scheduler;
use crate::{config::Config, store::Store};

/// The part of the configuration that concerns the scheduler.
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

impl<S: Store> Scheduler<S> {
    /// Applies new settings. The resolution of the wheel stays.
    pub(super) fn reconfigure(&mut self, settings: Settings) {
        self.settings = Settings {
            tick_millis: self.settings.tick_millis,
            ..settings
        };
        for (name, route) in &mut self.routes {
            route.hedge = self.settings.config.hedge_of(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use race_wheel::Tick;

    use super::*;
    use crate::{
        clock::Now,
        protocol::{Line, Mode, Request},
        scheduler::{Ask, Input},
        store::fake::Fake,
    };

    #[test]
    fn new_settings_apply_to_routes_that_exist_and_leave_the_wheel_alone() {
        let now = Now {
            wall_nanos: 1_000_000_000_000_000,
            monotonic: Tick::ZERO,
        };
        let settings = |config: Config| Settings::from(Arc::new(config));
        let mut scheduler = Scheduler::new(
            Arc::new(Fake::default()),
            settings(Config::default()),
            0,
            now,
        );
        scheduler.handle(Input::Opened(1), now);
        let request = Request::Register {
            route: "pay-1".into(),
            credit: None,
            mode: Mode::Shared,
        };
        let line = Line { tag: None, request };
        scheduler.handle(Input::Asked(1, vec![Ask { line, weight: 1 }]), now);
        assert_eq!(scheduler.routes["pay-1"].hedge, None);

        let new = Config {
            tick_ms: 50,
            ack_timeout_ms: 7_000,
            hedge: [("pay-*".to_owned(), 250)].into(),
            ..Config::default()
        };
        scheduler.handle(Input::Settings(Box::new(settings(new))), now);
        let hedge = Some(Duration::from_millis(250));
        assert_eq!(scheduler.routes["pay-1"].hedge, hedge);
        assert_eq!(scheduler.settings.ack_timeout, Duration::from_secs(7));
        assert_eq!(scheduler.settings.tick_millis, 1);
    }
}
