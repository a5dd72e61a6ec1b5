//! A disk on which a sync takes long, and the signs of life that the service manager gets meanwhile.

use std::{
    os::unix::net::UnixDatagram,
    time::{Duration, Instant},
};

use testkit::{PATIENCE, Wire, request::now};

use crate::{acks, schedule, strace};

/// Half of the time between two signs of life that the service manager allows.
const HALF: Duration = Duration::from_millis(100);

/// How long a sync takes.
const STALL: Duration = Duration::from_millis(1_500);

#[test]
fn no_sign_of_life_is_sent_while_the_committer_is_stuck() {
    if !strace::is_there() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let start = crate::start(directory.path());
    // A first run creates the store.
    start.run().kill();

    let name = directory.path().join("notify");
    let manager = UnixDatagram::bind(&name).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = [0; 256];
    let mut message = || {
        let length = manager.recv(&mut buffer).expect("a message comes");
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    let inject = format!("inject=fdatasync:delay_enter={}", STALL.as_micros());
    let tracer = ["-o", "/dev/null", "-e", "trace=fdatasync", "-e", &inject];
    let allowed = (HALF * 2).as_micros().to_string();
    let started = Instant::now();
    let server = crate::start(directory.path())
        .under(strace::line(&tracer))
        .env("NOTIFY_SOCKET", &name)
        .env("WATCHDOG_USEC", allowed)
        .run();
    assert_eq!(message(), "READY=1\n");

    let mut wire = Wire::to(server.address).unwrap();
    wire.send(&schedule("task", now() + 60_000, 30)).unwrap();
    // The applier may have to wait for the reserve first.
    let line = server.logs("threads=writer");
    assert!(
        line.contains("ERROR") && line.contains("no progress"),
        "{line}"
    );
    assert_eq!(acks(&mut wire, 1).unwrap(), ["task"]);

    // Each tick is either a sign of life or a line about a stuck thread.
    manager.set_nonblocking(true).unwrap();
    let mut signs = 0;
    let mut buffer = [0; 256];
    while let Ok(length) = manager.recv(&mut buffer) {
        assert_eq!(&buffer[..length], b"WATCHDOG=1\n");
        signs += 1;
    }
    let log = server.log();
    let stuck = log
        .lines()
        .filter(|line| line.contains("no progress"))
        .count();
    let ticks = started.elapsed().as_millis() / HALF.as_millis() + 2;
    assert!(
        (signs + stuck) as u128 <= ticks,
        "{signs} + {stuck} in {ticks}"
    );

    // The sync is over, so they come again.
    manager.set_nonblocking(false).unwrap();
    let length = manager.recv(&mut buffer).expect("a message comes");
    assert_eq!(&buffer[..length], b"WATCHDOG=1\n");
}
