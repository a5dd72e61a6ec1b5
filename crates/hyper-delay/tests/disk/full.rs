//! A disk that is full: deliveries and acks go on, schedules are refused until there is room.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use testkit::{
    PATIENCE, Server,
    request::{self, echo, echo_with, now},
    small::{Small, with_mounts},
};

use crate::{
    deliver_all,
    full_disk::{Client, Ids, finish, nothing_is_lost_or_doubled, start, stored},
};

/// Makes the disk that is filled repeatedly a larger one.
const ALL: &str = "HYPER_DELAY_FAULTS";

/// What a reserve has at least for 1,000 tasks.
const RESERVED: u64 = 4 << 20;

fn filled_by_schedules(mebibytes: usize, size: usize, group: usize, sync: &str) {
    let small = Small::new(mebibytes);
    let start = start(&small, json!({"sync": sync}));
    let server = start.run();
    let mut client = Client::of(&server);
    let fire_at = now();
    let mut tasks = client.schedule_until_full("task", fire_at, size, group);
    println!("{} tasks in {mebibytes} MiB, {sync}", tasks.len());
    assert!(tasks.len() > 100);

    // What is stored is acknowledged again.
    assert!(client.takes(tasks.first().unwrap(), fire_at, size));
    // A replacement is refused, and the task stays as it was. The store may have made room
    // meanwhile, so the disk is filled before each try.
    let mut peer = server.peer();
    let mut is_refused = |number: usize, id: &str, tasks: &mut Ids| {
        let prefix = format!("more{number}");
        tasks.append(&mut client.schedule_until_full(&prefix, fire_at, size, 1));
        let replacement = request::replace("r", id, &"eHh4".repeat(15_000));
        peer.ask(&replacement)["code"] == "disk_full"
    };
    let ids: Vec<String> = tasks.iter().take(20).cloned().collect();
    let mut tries = ids.iter().enumerate();
    let refused = tries.find(|(number, id)| is_refused(*number, id, &mut tasks));
    let (_, id) = refused.expect("a full disk takes no replacement");
    assert!(client.takes(id, fire_at, size));
    assert_eq!(peer.code(&request::schedule("r", id, 1)), "duplicate_id");

    let cancelled = tasks.pop_last().unwrap();
    let cancel = json!({"kind": "cancel", "id": cancelled, "route_key": "r"}).to_string();
    assert_eq!(peer.ask(&cancel)["found"], true);
    let finished = finish(&server, tasks.len() - 20);
    tasks.retain(|id| !finished.contains(id));
    assert_eq!(stored(&mut peer), 20);

    small.enlarge(2 * mebibytes + 300);
    tasks.insert(client.takes_again());
    nothing_is_lost_or_doubled(server, &start, &tasks);
}

#[test]
fn filled_by_schedules_the_server_refuses_them_and_finishes_what_it_has() {
    with_mounts(|| {
        filled_by_schedules(12, 3_000, 1, "always");
        filled_by_schedules(20, 30_000, 5, "interval:20ms");
        filled_by_schedules(24, 300, 2_000, "never");
    });
}

/// Finished tasks give their room back: compactions drop them, and journals are deleted.
#[test]
fn finished_tasks_make_room_for_new_ones() {
    with_mounts(|| {
        // With all rounds, journals are sealed and deleted, too.
        let (mebibytes, rounds) = match std::env::var_os(ALL) {
            Some(_) => (256, 3),
            None => (64, 2),
        };
        let small = Small::new(mebibytes);
        let start = start(&small, json!({"sync": "interval:10ms"}));
        let server = start.run();
        let mut client = Client::of(&server);
        let mut tasks = Ids::new();
        for round in 1..=rounds {
            let begun = Instant::now();
            for part in 0.. {
                let prefix = format!("round{round}.{part}");
                tasks.append(&mut client.schedule_until_full(&prefix, now(), 30_000, 100));
                if tasks.len() > mebibytes * 5 {
                    break;
                }
                let log = server.log();
                assert!(begun.elapsed() < PATIENCE, "{} tasks: {log}", tasks.len());
                thread::sleep(Duration::from_millis(100));
            }
            println!("round {round}: {} tasks in {mebibytes} MiB", tasks.len());
            assert_eq!(finish(&server, tasks.len()), tasks);
            tasks = Ids::from([client.takes_again()]);
        }
        nothing_is_lost_or_doubled(server, &start, &tasks);
    });
}

/// Returns the allocated bytes of a server's only journal after its written ones.
#[cfg(target_os = "linux")]
fn journal_room(small: &Small) -> u64 {
    use std::{fs, os::unix::fs::MetadataExt as _};

    let journal = small.path().join("data/store/0.jnl");
    let allocated = fs::metadata(&journal).unwrap().blocks() * 512;
    let bytes = fs::read(journal).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    allocated.saturating_sub(written as u64)
}

/// Another program cannot take the room for the next batch.
#[cfg(target_os = "linux")]
#[test]
fn journal_has_room_for_the_next_batch() {
    with_mounts(|| {
        let small = Small::new(12);
        let start = start(&small, json!({}));
        let server = start.run();
        let mut client = Client::of(&server);
        for number in 0..100 {
            let (_, is_full) = client.schedule("task", number..number + 1, now(), 30_000);
            assert!(!is_full, "{number}");
            let room = journal_room(&small);
            assert!(room >= 64 << 10, "{room} bytes after {number} tasks");
        }
    });
}

/// A server with tasks and a reserve for them.
fn with_reserve<'a>(server: &'a Server, small: &Small, due: u64) -> (Client<'a>, Ids) {
    let mut client = Client::of(server);
    let (tasks, is_full) = client.schedule("task", 0..1_000, due, 300);
    assert!(!is_full);
    // The reserve grows with the tasks, a little after them.
    let begun = Instant::now();
    while small.reserve() < RESERVED {
        assert!(begun.elapsed() < PATIENCE, "it has {}", small.reserve());
        assert!(client.takes("task-0", due, 300));
        thread::sleep(Duration::from_millis(20));
    }
    (client, tasks)
}

fn filled_by_another_program(mebibytes: usize, sync: &str) {
    let small = Small::new(mebibytes);
    let start = start(&small, json!({"sync": sync}));
    let server = start.run();
    let due = now() + 2_000;
    let (mut client, mut tasks) = with_reserve(&server, &small, due);
    small.fill();
    // What the reserve has beyond the need of its tasks goes to new ones.
    tasks.append(&mut client.schedule_until_full("more", due, 300, 1));
    assert!(client.takes("task-0", due, 300));
    let finished = finish(&server, tasks.len() - 100);
    tasks.retain(|id| !finished.contains(id));
    assert_eq!(stored(&mut server.peer()), 100);

    small.free();
    tasks.insert(client.takes_again());
    nothing_is_lost_or_doubled(server, &start, &tasks);
}

#[test]
fn filled_by_another_program_the_reserve_finishes_the_tasks() {
    with_mounts(|| {
        filled_by_another_program(40, "always");
        filled_by_another_program(300, "interval:20ms");
    });
}

/// The other program takes whatever the reserve gives, all the time.
#[test]
fn a_program_that_keeps_filling_the_disk_does_not_end_the_server() {
    with_mounts(|| {
        let small = Small::new(40);
        let start = start(&small, json!({}));
        let server = start.run();
        let (mut client, tasks) = with_reserve(&server, &small, now());
        let finished = thread::scope(|scope| {
            scope.spawn(|| {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_secs(3) {
                    small.fill();
                }
                small.free();
            });
            // Those that find no room wait until the end of the other program.
            finish(&server, 1_000)
        });
        assert_eq!(finished, tasks);
        let left = Ids::from([client.takes_again()]);
        nothing_is_lost_or_doubled(server, &start, &left);
    });
}

#[test]
fn a_stopped_server_starts_on_a_disk_that_another_program_filled() {
    with_mounts(|| {
        let small = Small::new(100);
        let start = start(&small, json!({}));
        let server = start.run();
        let (mut tasks, is_full) = Client::of(&server).schedule("task", 0..2_000, now(), 3_000);
        assert!(!is_full);
        server.kill();
        small.fill();
        let server = start.run();
        let mut client = Client::of(&server);
        tasks.append(&mut client.schedule_until_full("more", now(), 3_000, 1));
        assert_eq!(finish(&server, tasks.len()), tasks);
    });
}

/// Waits until the log has said so often that the server waits.
fn waits_for_room(server: &Server, times: usize) {
    let begun = Instant::now();
    while server.log().matches("its reserve is used up").count() < times {
        assert!(
            begun.elapsed() < PATIENCE,
            "it does not wait: {}",
            server.log()
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// A full disk without a reserve: even acks wait, and the server with them.
#[test]
fn without_a_reserve_acks_wait_for_room() {
    with_mounts(|| {
        let small = Small::new(40);
        let start = start(&small, json!({"disk_reserve_mib": 0}));
        let server = start.run();
        let mut peer = server.peer();
        for id in ["held", "kept"] {
            peer.plan("r", id, 1);
        }
        assert_eq!(small.reserve(), 0);
        small.fill();
        let mut consumer = server.consumer("r");
        let [first, second] = [consumer.delivery(), consumer.delivery()];
        let tag = consumer.ask_later(&echo_with("ack", &first, r#""confirm":true"#));
        waits_for_room(&server, 1);
        assert_eq!(
            peer.code(&request::schedule("r", "no-room", 1)),
            "disk_full"
        );
        assert_eq!(peer.code(&request::schedule("r", "held", 1)), "disk_full");
        consumer.quiet();
        small.free();
        assert_eq!(consumer.answer(&tag)["removed"], true);
        peer.plan("r", "again", now() + 3_600_000);

        small.fill();
        consumer.send(echo("ack", &second));
        waits_for_room(&server, 2);
        server.signal("TERM");
        let (status, log) = server.ended();
        assert!(!status.success(), "{log}");
        let said = "look at df, and free some; unwritten acks, retries and cancels: 1;";
        assert!(log.contains(said), "{log}");
        small.free();
        let server = start.run();
        assert_eq!(stored(&mut server.peer()), 2);
        deliver_all(&server, &Ids::from(["kept".to_owned()]));
    });
}
