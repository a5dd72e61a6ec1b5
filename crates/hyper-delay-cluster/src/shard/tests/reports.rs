//! The reports of this node in the log.

use super::*;

/// The last report of the node in the log.
fn reported(world: &World) -> Option<u64> {
    world.log.shard(SHARD).reports.get("a").copied()
}

/// Lets the node ask the log what it knows, and answer that.
fn poll_log(world: &mut World) {
    for _ in 0..4 {
        world.now.monotonic = world.now.after(world.shard.setup.poll());
        world.settle();
    }
}

fn membership(joins: bool) -> LogRequest {
    let member = Member {
        node: "a".into(),
        address: "a:1".into(),
    };
    match joins {
        true => LogRequest::Join(member),
        false => LogRequest::Remove(member.node),
    }
}

#[test]
fn a_node_whose_report_is_gone_reports_again() {
    let mut world = World::new();
    let until = Tick::new(u64::MAX);
    world.term = world.term.map(|term| Term { until, ..term });
    assert_eq!(reported(&world), Some(0));
    world.log.carry_out(&membership(false));
    world.event(ShardEvent::Members([].into()));
    poll_log(&mut world);
    assert!(!world.shard.is_leading());
    assert_eq!(reported(&world), None, "it is no member");
    assert!(world.shard.is_known(), "it still follows");
    world.log.carry_out(&membership(true));
    poll_log(&mut world);
    assert_eq!(reported(&world), Some(0));
}

#[test]
fn a_node_that_was_removed_reports_no_more_often_than_it_reads() {
    let mut world = World::new();
    let until = Tick::new(u64::MAX);
    world.term = world.term.map(|term| Term { until, ..term });
    world.log.carry_out(&membership(false));
    world.event(ShardEvent::Members([].into()));
    poll_log(&mut world);
    world.log_requests.clear();
    let pause = world.shard.setup.pause();
    for _ in 0..4 * LEASE.as_nanos() / pause.as_nanos() {
        world.now.monotonic = world.now.after(pause);
        world.settle();
    }
    let reports = world.log_requests.iter();
    let reports = reports.filter(|it| matches!(it, LogRequest::Report { .. }));
    let reports = reports.count();
    assert!((10..=17).contains(&reports), "{reports}");
}
