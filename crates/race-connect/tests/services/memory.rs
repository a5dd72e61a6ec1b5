//! What connections teach: QUIC that gets no answer, and a family that gets none.

use std::{io, sync::Arc};

use race_connect::{
    Destination, Family, FamilyMemory, HappyEyeballs,
    v3::{Discovery, Nat64Prefix, Network, QuicMemory, Transport},
};

use crate::host::{Dial, HANGS, Host, REFUSED, Reply, assert_log, h3, ms, origin};

fn host(dials: impl IntoIterator<Item = Dial>) -> Host {
    Host::new(
        [
            ("a.test HTTPS", 0, h3()),
            ("a.test AAAA", 0, Reply::Aaaa("a")),
            ("a.test A", 0, Reply::A("a")),
        ],
        dials,
    )
}

/// Connects once, and returns whether QUIC counts as blocked.
fn teaches(host: &Host, discovery: &Discovery<Host>, memory: &QuicMemory) -> bool {
    host.connect_by(&HappyEyeballs::new(), discovery).unwrap();
    memory.is_blocked(host.clock.now())
}

const BLOCKED: [Dial; 4] = [
    ("Q6a", HANGS, Ok(())),
    ("Q4a", HANGS, Ok(())),
    ("T6a", 20, Ok(())),
    ("T4a", 20, Ok(())),
];

#[test]
fn quic_without_an_answer_comes_last_for_ten_minutes() {
    let host = host(BLOCKED);
    let discovery = host.discovery();
    let connect = |discovery: &Discovery<Host>| {
        host.connect_by(&HappyEyeballs::new(), discovery).unwrap();
        host.starts()
    };
    assert_log(
        &connect(&discovery),
        &[("Q6a", 0), ("Q4a", 250), ("T6a", 500)],
    );
    // Clones share the memory.
    assert_log(&connect(&discovery.clone()), &[("T6a", 520)]);
    host.clock.advance(QuicMemory::LIFETIME - ms(21));
    assert_eq!(connect(&discovery).len(), 1);
    assert_eq!(connect(&discovery).len(), 3);
}

#[test]
fn memory_is_forgotten_on_request_and_when_quic_connects() {
    let host = host([
        ("Q6a", 20, Ok(())),
        ("T6a", 400, REFUSED),
        ("T4a", HANGS, REFUSED),
    ]);
    let memory = Arc::new(QuicMemory::new());
    let discovery = host.discovery().quic_memory(memory.clone());
    memory.remember(host.clock.now());
    memory.forget();
    assert!(!teaches(&host, &discovery, &memory));
    assert_log(&host.starts(), &[("Q6a", 0)]);

    memory.remember(host.clock.now());
    assert!(!teaches(&host, &discovery, &memory));
    assert_log(&host.starts(), &[("T6a", 20), ("T4a", 270), ("Q6a", 420)]);
}

#[test]
fn quic_that_is_refused_teaches_nothing() {
    let host = host([
        ("Q6a", 20, REFUSED),
        ("Q4a", 20, REFUSED),
        ("T6a", 20, Ok(())),
    ]);
    let memory = Arc::new(QuicMemory::new());
    let discovery = host.discovery().quic_memory(memory.clone());
    assert!(!teaches(&host, &discovery, &memory));
}

#[test]
fn quic_that_began_after_the_winner_teaches_nothing() {
    let host = Host::new(
        [
            ("a.test HTTPS", 100, h3()),
            ("a.test AAAA", 0, Reply::Aaaa("a")),
            ("a.test A", 0, Reply::A("")),
        ],
        [("T6a", 300, Ok(())), ("Q6a", HANGS, Ok(()))],
    );
    let memory = Arc::new(QuicMemory::new());
    let discovery = host.discovery().quic_memory(memory.clone());
    assert!(!teaches(&host, &discovery, &memory));
    assert_log(&host.starts(), &[("T6a", 50), ("Q6a", 300)]);
}

#[test]
fn quic_that_has_made_progress_is_not_blocked() {
    let host = host([
        ("Q6a", 10, Ok(())),
        ("Q4a", 10, Ok(())),
        ("T6a", 10, Ok(())),
    ]);
    let memory = Arc::new(QuicMemory::new());
    let discovery = host.discovery().quic_memory(memory.clone());
    let handshake = |to: Destination| async move {
        to.progress();
        match to.endpoint.transport {
            Transport::Quic => std::future::pending().await,
            Transport::Tcp => Ok(()),
        }
    };
    host.connect_with(&HappyEyeballs::new(), &discovery, &origin(), handshake)
        .unwrap();
    assert!(!memory.is_blocked(host.clock.now()));
}

#[test]
fn quic_that_timed_out_got_no_answer() {
    let host = host(BLOCKED);
    let memory = Arc::new(QuicMemory::new());
    let discovery = host.discovery().quic_memory(memory.clone());
    let settings = HappyEyeballs::new().attempt_timeout(ms(100));
    host.connect_by(&settings, &discovery).unwrap();
    assert_log(&host.starts(), &[("Q6a", 0), ("Q4a", 100), ("T6a", 200)]);
    assert!(memory.is_blocked(host.clock.now()));
}

fn family_after(host: &Host, discovery: &Discovery<Host>) -> Option<Family> {
    let memory = Arc::new(FamilyMemory::new());
    let settings = HappyEyeballs::new().memory(memory.clone());
    host.connect_by(&settings, discovery).unwrap();
    memory.family(host.clock.now())
}

#[test]
fn family_without_an_answer_comes_last_the_next_time() {
    let host = host([("Q6a", HANGS, Ok(())), ("Q4a", 20, Ok(()))]);
    let memory = Arc::new(FamilyMemory::new());
    let settings = HappyEyeballs::new().memory(memory.clone());
    let discovery = host.discovery();
    host.connect_by(&settings, &discovery).unwrap();
    assert_log(&host.starts(), &[("Q6a", 0), ("Q4a", 250)]);
    host.connect_by(&settings, &discovery).unwrap();
    assert_log(&host.starts(), &[("Q4a", 270)]);
    assert_eq!(memory.family(host.clock.now()), Some(Family::V4));
}

/// The silence of one family over QUIC says nothing of it where UDP is blocked.
#[test]
fn quic_without_an_answer_teaches_nothing_about_families() {
    let host = host(BLOCKED);
    assert_eq!(family_after(&host, &host.discovery()), None);
}

#[test]
fn family_that_was_refused_keeps_its_place() {
    let host = host([("Q6a", 20, REFUSED), ("Q4a", 20, Ok(()))]);
    assert_eq!(family_after(&host, &host.discovery()), None);
}

#[test]
fn family_that_began_after_the_winner_keeps_its_place() {
    let host = host([("Q6a", 300, Ok(())), ("Q4a", HANGS, Ok(()))]);
    assert_eq!(family_after(&host, &host.discovery()), None);
    assert_eq!(host.starts().len(), 2);
}

#[test]
fn address_behind_a_nat64_counts_as_ipv4() {
    let host = Host::new(
        [
            ("a.test HTTPS", 0, Reply::Https(vec![])),
            ("a.test AAAA", 0, Reply::Aaaa("a")),
            ("a.test A", 0, Reply::A("a")),
        ],
        [
            ("T6a", HANGS, Err(io::ErrorKind::Other)),
            ("T64:ff9b::c000:261 ", 20, Ok(())),
        ],
    );
    let network = Network::ipv6_only().nat64(Nat64Prefix::WELL_KNOWN);
    let discovery = host.discovery().network(network);
    assert_eq!(family_after(&host, &discovery), Some(Family::V4));
    assert_log(&host.starts(), &[("T6a", 0), ("T64:ff9b::c000:261 ", 250)]);
}
