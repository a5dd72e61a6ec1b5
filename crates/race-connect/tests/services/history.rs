//! Progress of attempts: it puts the next start off, and it is remembered.

use std::sync::Arc;

use race_connect::{
    Destination, HappyEyeballs,
    v3::{AddressHistory, Discovery},
};

use crate::host::{
    Dial, HANGS, Host, REFUSED, Reply, address, assert_log, ms, origin, preferences,
};

fn host(aaaa: &'static str, dials: impl IntoIterator<Item = Dial>) -> Host {
    Host::new(
        [
            ("a.test HTTPS", 0, Reply::Https(vec![])),
            ("a.test AAAA", 0, Reply::Aaaa(aaaa)),
            ("a.test A", 0, Reply::A("a")),
        ],
        dials,
    )
}

fn remembers(host: &Host) -> (Arc<AddressHistory>, Discovery<Host>) {
    let history = Arc::new(AddressHistory::new());
    let preferences = preferences().history(Some(history.clone()));
    (history, host.discovery().preferences(preferences))
}

#[test]
fn progress_puts_the_next_start_off_by_the_attempt_delay() {
    for (has_progress, next) in [(false, 250), (true, 450)] {
        let host = host("a", [("T6a", 200, Ok(())), ("T4a", 10, Ok(()))]);
        let handshake = |to: Destination| async move {
            if to.address() == address("6a") {
                if has_progress {
                    to.progress();
                }
                std::future::pending::<()>().await;
            }
            Ok(())
        };
        host.connect_with(
            &HappyEyeballs::new(),
            &host.discovery(),
            &origin(),
            handshake,
        )
        .unwrap();
        assert_log(&host.starts(), &[("T6a", 0), ("T4a", next)]);
    }
}

#[test]
fn time_to_the_first_progress_is_remembered() {
    let host = host("a", [("T6a", 30, Ok(()))]);
    let (history, discovery) = remembers(&host);
    let handshake = |to: Destination| {
        let host = &host;
        async move {
            to.progress();
            host.wait(50).await;
            to.progress();
            host.wait(50).await;
            Ok(())
        }
    };
    host.connect_with(&HappyEyeballs::new(), &discovery, &origin(), handshake)
        .unwrap();
    assert_eq!(host.millis(), 130);
    assert_eq!(history.handshake(address("6a").ip()), Some(ms(30)));
}

#[test]
fn time_to_the_connection_is_remembered_if_there_was_no_progress() {
    let host = host("a", [("T6a", HANGS, Ok(())), ("T4a", 40, Ok(()))]);
    let (history, discovery) = remembers(&host);
    host.connect_by(&HappyEyeballs::new(), &discovery).unwrap();
    assert_eq!(host.millis(), 290);
    assert_eq!(history.handshake(address("4a").ip()), Some(ms(40)));
    assert_eq!(history.handshake(address("6a").ip()), None);
}

#[test]
fn address_that_is_known_comes_first_the_next_time() {
    let host = host(
        "ab",
        [
            ("T6a", 5, REFUSED),
            ("T6b", 40, Ok(())),
            ("T4a", 5, REFUSED),
        ],
    );
    let (_, discovery) = remembers(&host);
    let mut first = Vec::new();
    for _ in 0..AddressHistory::FRESH {
        host.connect_by(&HappyEyeballs::new(), &discovery).unwrap();
        first.push(host.first_start());
    }
    let mut expected = vec!["T6b"; 16];
    (expected[0], expected[15]) = ("T6a", "T6a"); // nothing is known, and one in 16 ignores it
    assert_eq!(first, expected);
}
