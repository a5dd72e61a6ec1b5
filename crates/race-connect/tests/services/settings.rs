//! The settings of `HappyEyeballs` hold for endpoints.

use race_connect::{ConnectFailure, Family, HappyEyeballs};

use crate::host::{HANGS, Host, REFUSED, Reply, assert_log, ms};

/// Plain addresses: two of each family, which arrive at once.
fn plain(latency: u64, result: Result<(), std::io::ErrorKind>) -> Host {
    Host::new(
        [
            ("a.test HTTPS", 0, Reply::Https(vec![])),
            ("a.test AAAA", 0, Reply::Aaaa("ab")),
            ("a.test A", 0, Reply::A("ab")),
        ],
        ["T6a", "T6b", "T4a", "T4b"].map(|name| (name, latency, result)),
    )
}

#[test]
fn families_alternate_after_the_first_family_count() {
    let cases = [
        (HappyEyeballs::new(), ["T6a", "T4a", "T6b", "T4b"]),
        (
            HappyEyeballs::new().first_family_count(2),
            ["T6a", "T6b", "T4a", "T4b"],
        ),
        (
            HappyEyeballs::new().prefer(Family::V4),
            ["T4a", "T6a", "T4b", "T6b"],
        ),
    ];
    for (settings, expected) in cases {
        let host = plain(1, REFUSED);
        let error = host.connect_by(&settings, &host.discovery()).err().unwrap();
        assert_eq!(error.reason(), ConnectFailure::AllFailed);
        let starts: Vec<_> = expected.into_iter().zip([0, 10, 20, 30]).collect();
        assert_log(&host.starts(), &starts);
    }
}

#[test]
fn delays_between_attempts_hold() {
    let settings = HappyEyeballs::new()
        .attempt_delay(ms(100))
        .deadline(ms(350));
    let host = plain(HANGS, Ok(()));
    host.connect_by(&settings, &host.discovery()).err().unwrap();
    assert_log(
        &host.starts(),
        &[("T6a", 0), ("T4a", 100), ("T6b", 200), ("T4b", 300)],
    );

    let settings = HappyEyeballs::new()
        .attempt_delay(ms(500))
        .attempt_delay_factor(3)
        .deadline(ms(5_000));
    let host = plain(HANGS, Ok(()));
    host.connect_by(&settings, &host.discovery()).err().unwrap();
    assert_log(
        &host.starts(),
        &[("T6a", 0), ("T4a", 500), ("T6b", 2_000), ("T4b", 4_000)],
    );

    let settings = HappyEyeballs::new().minimum_attempt_delay(ms(70));
    let host = plain(1, REFUSED);
    host.connect_by(&settings, &host.discovery()).err().unwrap();
    assert_log(
        &host.starts(),
        &[("T6a", 0), ("T4a", 70), ("T6b", 140), ("T4b", 210)],
    );
}

#[test]
fn limits_of_attempts_hold() {
    let settings = HappyEyeballs::new().attempt_timeout(ms(40));
    let host = plain(HANGS, Ok(()));
    let error = host.connect_by(&settings, &host.discovery()).err().unwrap();
    assert_eq!(error.failed().len(), 4);
    assert_log(
        &host.starts(),
        &[("T6a", 0), ("T4a", 40), ("T6b", 80), ("T4b", 120)],
    );

    let settings = HappyEyeballs::new().max_in_flight(1);
    let host = plain(600, REFUSED);
    host.connect_by(&settings, &host.discovery()).err().unwrap();
    assert_log(
        &host.starts(),
        &[("T6a", 0), ("T4a", 600), ("T6b", 1_200), ("T4b", 1_800)],
    );
}

#[test]
fn resolution_delay_holds() {
    for (delay, start) in [(0, 10), (30, 40), (200, 210)] {
        let host = Host::new(
            [
                ("a.test HTTPS", HANGS, Reply::Https(vec![])),
                ("a.test AAAA", HANGS, Reply::Aaaa("")),
                ("a.test A", 10, Reply::A("a")),
            ],
            [("T4a", 5, Ok(()))],
        );
        let settings = HappyEyeballs::new().resolution_delay(ms(delay));
        host.connect_by(&settings, &host.discovery()).unwrap();
        assert_log(&host.starts(), &[("T4a", start)]);
    }
}

#[test]
fn preferred_family_is_the_one_that_is_waited_for() {
    let host = Host::new(
        [
            ("a.test HTTPS", 0, Reply::Https(vec![])),
            ("a.test AAAA", HANGS, Reply::Aaaa("")),
            ("a.test A", 10, Reply::A("a")),
        ],
        [("T4a", 5, Ok(()))],
    );
    let settings = HappyEyeballs::new().prefer(Family::V4);
    host.connect_by(&settings, &host.discovery()).unwrap();
    assert_log(&host.starts(), &[("T4a", 10)]);
}
