use std::sync::Arc;

use race_connect::{Family, FamilyMemory, HappyEyeballs};

use crate::host::{HANGS, Host, addresses, ms};

#[test]
fn family_of_the_last_connection_comes_first_for_ten_minutes() {
    let host = Host::new([("6a", HANGS, Ok(())), ("4a", 10, Ok(()))]);
    let memory = Arc::new(FamilyMemory::new());
    let settings = HappyEyeballs::new().memory(memory.clone());
    let connect = || host.connect(&settings, [(0, addresses("6a 4a"))]).unwrap();
    connect();
    assert_eq!(host.starts(), [("6a", 0), ("4a", 250)]);
    connect();
    assert_eq!(host.starts()[2..], [("4a", 260)]);
    host.clock.advance(FamilyMemory::LIFETIME);
    connect();
    assert_eq!(host.starts()[3].0, "6a");

    memory.forget();
    connect();
    assert_eq!(host.starts()[5].0, "6a");
}

#[test]
fn settings_share_a_memory() {
    let memory = Arc::new(FamilyMemory::new());
    let host = Host::new([("6a", HANGS, Ok(())), ("4a", 10, Ok(()))]);
    let settings = HappyEyeballs::new().memory(memory.clone());
    host.connect(&settings, [(0, addresses("6a 4a"))]).unwrap();
    host.connect(
        &settings.clone().attempt_delay(ms(10)),
        [(0, addresses("6a 4a"))],
    )
    .unwrap();
    assert_eq!(host.starts().len(), 3);
    assert_eq!(memory.family(host.clock.now()), Some(Family::V4));
}

#[test]
fn family_is_tried_again_after_ten_minutes_although_the_other_is_in_use() {
    let host = Host::new([("6a", HANGS, Ok(())), ("4a", 10, Ok(()))]);
    let settings = HappyEyeballs::new().memory(Arc::new(FamilyMemory::new()));
    let mut v6_first = vec![];
    for minute in 0..24 {
        let before = host.starts().len();
        host.connect(&settings, [(0, addresses("6a 4a"))]).unwrap();
        if host.starts()[before].0 == "6a" {
            v6_first.push(minute);
        }
        host.clock.advance(ms(60_000));
    }
    assert_eq!(v6_first, [0, 10, 20]);
}

#[test]
fn only_a_family_that_gave_no_answer_loses_its_place() {
    let refused = Err(std::io::ErrorKind::ConnectionRefused);
    let host = Host::new([
        ("6a", 10, Ok(())),
        ("4a", 10, Ok(())),
        ("6r", 10, refused),
        ("6h", HANGS, Ok(())),
    ]);
    let memory = Arc::new(FamilyMemory::new());
    let settings = HappyEyeballs::new().memory(memory.clone());
    let late = [(0, addresses("4a")), (100, addresses("6a"))];
    for answers in [
        vec![(0, addresses("4a"))],
        vec![(0, addresses("6a 4a"))],
        vec![(0, addresses("6r 4a"))],
        late.into_iter().collect(),
    ] {
        host.connect(&settings, answers).unwrap();
        assert_eq!(memory.family(host.clock.now()), None);
    }
    host.connect(&settings, [(0, addresses("6h 4a"))]).unwrap();
    assert_eq!(memory.family(host.clock.now()), Some(Family::V4));
}

/// The memory is for the network, `prefer` for what the network allows.
#[test]
fn memory_comes_before_the_preferred_family() {
    let host = Host::new([
        ("6h", HANGS, Ok(())),
        ("6a", 10, Ok(())),
        ("4a", 10, Ok(())),
    ]);
    let memory = Arc::new(FamilyMemory::new());
    let settings = HappyEyeballs::new().memory(memory).prefer(Family::V6);
    host.connect(&settings, [(0, addresses("4a 6h"))]).unwrap();
    host.connect(&settings, [(0, addresses("4a 6a"))]).unwrap();
    let order: Vec<_> = host.starts().into_iter().map(|(name, _)| name).collect();
    assert_eq!(order, ["6h", "4a", "4a"]);
}

/// It has not had the same time.
#[test]
fn family_that_began_after_the_winner_keeps_its_place() {
    let host = Host::new([("4a", 260, Ok(())), ("6a", HANGS, Ok(()))]);
    let memory = Arc::new(FamilyMemory::new());
    let settings = HappyEyeballs::new().memory(memory.clone());
    host.connect(&settings, [(0, addresses("4a 6a"))]).unwrap();
    assert_eq!(host.starts(), [("4a", 0), ("6a", 250)]);
    assert_eq!(memory.family(host.clock.now()), None);
}
