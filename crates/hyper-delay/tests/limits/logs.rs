use std::{net::TcpStream, time::Instant};

use serde_json::json;

use crate::server::Server;

const WARNINGS: usize = 200;

/// Returns the number of warnings of a kind, including those left out, and the number of their
/// lines.
pub(crate) fn accounted(log: &str, kind: &str) -> (usize, usize) {
    let lines = log.lines().filter(|line| line.contains(kind));
    lines.fold((0, 0), |(warnings, count), line| {
        let left_out = line.split_once("left_out=").expect("each line counts").1;
        let left_out: usize = left_out.trim().parse().expect("it is a number");
        let own = usize::from(line.contains("cause="));
        (warnings + left_out + own, count + 1)
    })
}

#[test]
fn refused_hosts_are_logged_once_per_second_with_the_number_left_out() {
    let server = Server::start(json!({"allowed_hosts": ["10.0.0.0/8"]}));
    let start = Instant::now();
    for _ in 0..WARNINGS {
        drop(TcpStream::connect(server.address).expect("the kernel accepts"));
    }
    one_line_per_second(&server, start, "the host is not in allowed_hosts");
}

#[test]
fn routes_that_look_like_prefixes_are_logged_once_per_second_with_the_number_left_out() {
    let server = Server::start(json!({}));
    let start = Instant::now();
    let mut peer = server.peer();
    peer.register("mail");
    for _ in 0..WARNINGS {
        peer.register("mail*");
    }
    one_line_per_second(&server, start, "whose name ends with *");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("ends with *"));
    assert!(
        line.is_some_and(|line| line.contains(r#"route "mail*""#)),
        "{log}"
    );
}

/// Waits until the log accounts for all warnings of a kind, and asserts that it has one line per
/// second.
fn one_line_per_second(server: &Server, start: Instant, kind: &str) {
    let lines = loop {
        let (warnings, lines) = accounted(&server.log(), kind);
        if warnings == WARNINGS {
            break lines;
        }
        assert!(warnings < WARNINGS);
        assert!(start.elapsed() < testkit::PATIENCE, "{}", server.log());
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let seconds = usize::try_from(start.elapsed().as_secs()).expect("it is short");
    assert!(lines <= seconds + 2, "{lines} lines in {seconds} s");
}
