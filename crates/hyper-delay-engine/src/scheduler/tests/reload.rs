//! The settings change while the server runs.

use std::{sync::Arc, time::Duration};

use super::{World, world::START};
use crate::front::FrontInput;
use crate::scheduler::SchedulerSettings;
use hyper_delay_config::Config;

fn reload(world: &mut World, config: Config) {
    let settings = SchedulerSettings::from(Arc::new(config));
    world.input(FrontInput::Settings(Box::new(settings)));
}

#[test]
fn new_settings_apply_to_routes_that_exist_and_leave_the_resolution_alone() {
    let mut world = World::new(60_000, 64, 16);
    let [_, second] = [0; 2].map(|_| world.connect(&["route"]));
    let config = Config {
        tick_ms: 50,
        ack_timeout_ms: 7_000,
        hedge: [("rou*".to_owned(), 250)].into(),
        ..Config::default()
    };
    reload(&mut world, config);
    assert_eq!(
        world.server.scheduler().settings.ack_timeout,
        Duration::from_secs(7)
    );
    assert_eq!(world.server.scheduler().settings.tick_millis, 1);
    world.schedule("task", START);
    world.run(249);
    assert_eq!(world.deliveries.len(), 1);
    world.run(1);
    assert_eq!(world.deliveries[1].consumer, second);
}
