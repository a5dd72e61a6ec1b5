//! A leader without work.

use super::*;

/// The number of entries that the node has asked the log to append since the last call.
fn appended(world: &mut World) -> usize {
    let requests = std::mem::take(&mut world.log_requests).into_iter();
    let appends = requests.filter(|request| matches!(request, LogRequest::Append { .. }));
    appends.count()
}

/// Lets seconds pass, one after the other.
fn pass(world: &mut World, seconds: u32) {
    for _ in 0..seconds {
        let second = Duration::from_secs(1);
        world.now.monotonic = world.now.after(second);
        world.now.wall_nanos += nanos(second);
        world.settle();
    }
}

#[test]
fn an_idle_leader_appends_nothing_but_one_mark_within_ten_seconds() {
    let mut world = World::new();
    let until = Tick::new(u64::MAX);
    world.term = world.term.map(|term| Term { until, ..term });
    world.begin();
    world.says(ToLeader::Opened(CLIENT));
    // Later than the test looks: the mark could rise all the time.
    world.asks(1, schedule_at("x", 11_000_000));
    assert_eq!(world.answered(), [1]);
    assert!(appended(&mut world) > 0);
    pass(&mut world, 11);
    let marks = appended(&mut world);
    assert!(marks <= 1, "{marks}");
    pass(&mut world, 3_600);
    assert_eq!(appended(&mut world), 0);
    assert!(world.shard.is_leading());
}
