//! Races without a winner.

use testkit::example::run;

use crate::{
    RUNTIMES, line,
    server::{OK, says, says_no_hello, stalls},
};

#[test]
fn failed_race_lists_every_error_on_each_runtime() {
    let urls = [
        "http://127.0.0.1:1/".to_owned(),
        says("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"),
        says("HTTP/1.1 302 Found\r\nlocation: /else\r\ncontent-length: 0\r\n\r\n"),
        says("SSH-2.0-garbage\r\n"),
        says("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\ncut"),
        says("HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n"),
        says(""),
        says_no_hello(),
    ];
    let whys = [
        "cannot connect: connection refused",
        "503 Service Unavailable",
        "302 Found to /else",
        "HTTP failed: invalid HTTP version parsed",
        "body truncated: end of file before message length reached",
        "longer than 64 MiB",
        "HTTP failed: connection closed before message completed",
        "TLS failed: received corrupt message of type InvalidContentType",
    ];
    for runtime in RUNTIMES {
        // Each mirror fails, so none waits for the delay.
        let mut args = vec!["--runtime", runtime, "--delay", "1h", "--timeout", "1h"];
        args.extend(urls.iter().map(String::as_str));
        let ended = run("mirrors", &args);
        let mut expected = "mirrors: every mirror failed\n".to_owned();
        for (index, (url, why)) in urls.iter().zip(whys).enumerate() {
            expected += &format!("#{index} {url}: {why}\n");
        }
        assert_eq!(ended.stderr, expected, "{runtime}");
        assert_eq!(ended.code, Some(1));
        assert!(line(&ended, "#1 ").contains("✗ 503"), "{}", ended.stdout);
    }
}

#[test]
fn timeout_lists_cancelled_and_unstarted_mirrors() {
    for runtime in RUNTIMES {
        let ((url, _told), next) = (stalls(), says(OK));
        let limits = ["--delay", "1h", "--timeout", "50ms"];
        let args = [&["--runtime", runtime][..], &limits, &[&url, &next]].concat();
        let ended = run("mirrors", &args);
        assert_eq!(ended.code, Some(1));
        let lines: Vec<_> = ended.stderr.lines().collect();
        assert_eq!(lines.len(), 3, "{}", ended.stderr);
        assert_eq!(lines[0], "mirrors: no mirror won within 50ms");
        assert_eq!(lines[1], format!("#0 {url}: cancelled"));
        assert_eq!(lines[2], format!("#1 {next}: not started"));
    }
}
