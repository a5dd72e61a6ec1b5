//! A disk that is full.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Stdio},
};

use testkit::{Wire, request::now};

use crate::{acks, deliver_all, schedule, serves};

/// A file system in memory of a size in mebibytes, if this process may make one.
struct Small<'a> {
    place: &'a Path,
}

impl<'a> Small<'a> {
    fn new(place: &'a Path, size: usize) -> Option<Self> {
        let mounted = mount(&format!("size={size}m"), place);
        if !mounted {
            println!("NOTE: nothing is proved here: a small file system cannot be mounted");
        }
        mounted.then_some(Self { place })
    }

    fn make_room(&self, size: usize) {
        assert!(mount(&format!("remount,size={size}m"), self.place));
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.place).status();
    }
}

fn mount(options: &str, place: &Path) -> bool {
    Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "hyper-delay-test"])
        .arg(place)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Schedules tasks, `group` at a time, until the server is gone, and gives those that it acknowledged.
fn fill(wire: &mut Wire, size: usize, group: usize) -> BTreeSet<String> {
    let mut acknowledged = BTreeSet::new();
    for first in (0..1_000_000).step_by(group) {
        let lines: Vec<u8> = (first..first + group)
            .flat_map(|number| schedule(&format!("task-{number}"), now(), size))
            .collect();
        let sent = wire.send(&lines).map_err(|gone| (gone, Vec::new()));
        match sent.and_then(|()| acks(wire, group)) {
            Ok(ids) => acknowledged.extend(ids),
            Err((_, ids)) => {
                acknowledged.extend(ids);
                return acknowledged;
            }
        }
    }
    panic!("the disk is never full");
}

#[test]
fn when_the_disk_is_full_the_server_says_so_and_ends_and_nothing_it_acknowledged_is_lost() {
    for (mebibytes, size, group) in [(12, 3_000, 1), (20, 30_000, 5), (24, 300, 2_000)] {
        let directory = tempfile::tempdir().unwrap();
        let Some(small) = Small::new(directory.path(), mebibytes) else {
            return;
        };
        let start = crate::start(directory.path());
        let server = start.run();
        let mut wire = Wire::to(server.address).unwrap();
        let acknowledged = fill(&mut wire, size, group);
        assert!(!acknowledged.is_empty());
        let (status, log) = server.ended();
        assert!(!status.success(), "{log}");
        assert!(log.contains("No space left on device"), "{log}");
        assert!(
            log.contains("look at the disk, then start the server again"),
            "{log}"
        );

        // A start without room may work or not, and does no harm.
        if let Ok(server) = start.try_run() {
            serves(&server);
        }
        small.make_room(400);
        let server = start.run();
        deliver_all(&server, &acknowledged);
        println!(
            "{} acknowledged until {mebibytes} MiB were full, all delivered",
            acknowledged.len()
        );
    }
}
