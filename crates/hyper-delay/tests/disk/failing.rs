//! A disk on which syncs fail.

use std::collections::BTreeSet;

use testkit::{Wire, request::now};

use crate::{acks, deliver_all, schedule, strace};

#[test]
fn the_server_ends_when_a_sync_fails_and_loses_no_acknowledged_task() {
    if !strace::is_there() {
        return;
    }
    // The number of syncs that succeed before the first failure.
    for working in [10, 25, 60] {
        let directory = tempfile::tempdir().unwrap();
        let start = crate::start(directory.path());
        // A first run creates the store, so that most of the counted syncs are those of schedules.
        let server = start.run();
        let mut wire = Wire::to(server.address).unwrap();
        wire.send(&schedule("first", now(), 30)).unwrap();
        let mut acknowledged: BTreeSet<String> = acks(&mut wire, 1).unwrap().into_iter().collect();
        server.kill();

        let inject = format!("inject=fdatasync:error=EIO:when={}+", working + 1);
        let tracer = ["-o", "/dev/null", "-e", "trace=fdatasync", "-e", &inject];
        let server = crate::start(directory.path())
            .under(strace::line(&tracer))
            .run();
        let mut wire = Wire::to(server.address).unwrap();
        let fire_at = now();
        let mut refused = None;
        for number in 0..1000 {
            let id = format!("task-{number}");
            let sent = wire.send(&schedule(&id, fire_at, 300));
            match sent
                .map_err(|error| (error, Vec::new()))
                .and_then(|()| acks(&mut wire, 1))
            {
                Ok(ids) => acknowledged.extend(ids),
                Err((_, ids)) => {
                    assert!(ids.is_empty());
                    refused = Some(number);
                    break;
                }
            }
        }
        let refused = refused.expect("a sync has failed");
        assert!(refused >= 1, "the first of {working} syncs failed");
        let (status, log) = server.ended();
        assert!(!status.success(), "{log}");
        let said =
            log.contains("failed to write: Input/output error (os error 5); look at the disk");
        assert!(said, "{log}");

        let server = start.run();
        deliver_all(&server, &acknowledged);
        println!(
            "{} tasks acknowledged before a sync failed, all delivered",
            acknowledged.len()
        );
    }
}
