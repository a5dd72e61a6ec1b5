//! The `dns` example as a process, with resolvers that send raw bytes.

use std::{
    net::{SocketAddr, UdpSocket},
    thread,
};

use testkit::example::run;

/// Starts a resolver that sends these replies to each question; returns its address.
fn resolver(replies: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let address: SocketAddr = socket.local_addr().expect("it is bound");
    thread::spawn(move || {
        let mut packet = [0; 512];
        while let Ok((length, asker)) = socket.recv_from(&mut packet) {
            for reply in replies(&packet[..length]) {
                // The client may have closed its socket.
                let _ = socket.send_to(&reply, asker);
            }
        }
    });
    address.to_string()
}

/// The question as a reply without records and with this code (RFC 1035, 4.1.1).
fn coded(question: &[u8], code: u8) -> Vec<u8> {
    let mut reply = question.to_vec();
    reply[2] |= 0x80;
    reply[3] = code;
    reply
}

/// The question with the answer 192.0.2.`last`, or without an answer if it is not for IPv4.
fn answered(question: &[u8], last: u8) -> Vec<u8> {
    let mut reply = coded(question, 0);
    let kind = question[question.len() - 3];
    if kind == 1 {
        reply[7] = 1; // one record: the name again, A, IN, for a minute, four bytes
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, last]);
    }
    reply
}

#[test]
fn third_resolver_answers_the_demo() {
    let ended = run("dns", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let says = "race.example is at 192.0.2.7, 2001:db8::7\nanswered by #2 127.0.0.1:";
    assert!(ended.stdout.contains(says), "{}", ended.stdout);
}

#[test]
fn failure_asks_the_next_resolver_at_once() {
    let fails = resolver(|question| vec![coded(question, 2)]);
    let answers = resolver(|question| vec![answered(question, 9)]);
    let ended = run("dns", &["--delay", "1h", "Host.Example", &fails, &answers]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let says = format!("Host.Example is at 192.0.2.9\nanswered by #1 {answers} after ");
    assert!(ended.stdout.starts_with(&says), "{}", ended.stdout);
}

#[test]
fn forged_replies_are_ignored() {
    let forger = resolver(|question| {
        let mut other_id = answered(question, 66);
        other_id[1] ^= 1;
        let mut other_name = answered(question, 66);
        other_name[13] = b'x';
        let echo = question.to_vec();
        let replies = [vec![1, 2, 3], echo, other_id, other_name];
        [&replies[..], &[answered(question, 9)]].concat()
    });
    let ended = run("dns", &["host.example", &forger]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let says = "host.example is at 192.0.2.9\n";
    assert!(ended.stdout.starts_with(says), "{}", ended.stdout);
}

#[test]
fn failed_race_lists_every_error() {
    let resolvers = [
        resolver(|question| vec![coded(question, 2)]),
        resolver(|question| vec![coded(question, 3)]),
        resolver(|question| vec![coded(question, 5)]),
        resolver(|question| vec![coded(question, 4)]),
        resolver(|question| vec![coded(question, 0)]),
        resolver(|question| {
            let mut cut = answered(question, 9);
            cut[2] |= 2;
            vec![cut]
        }),
    ];
    let whys = [
        "SERVFAIL: the resolver failed",
        "NXDOMAIN: the name does not exist",
        "REFUSED: the resolver refused",
        "code 4: Not Implemented",
        "the name has no address",
        "truncated: too long for UDP, and TCP is not tried",
    ];
    let mut args = vec!["--delay", "1h", "host.example"];
    args.extend(resolvers.iter().map(String::as_str));
    let ended = run("dns", &args);

    let mut expected = "dns: no resolver has an address of \"host.example\"\n".to_owned();
    for (index, (resolver, why)) in resolvers.iter().zip(whys).enumerate() {
        expected += &format!("#{index} {resolver}: {why}\n");
    }
    assert_eq!(ended.stderr, expected);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
}

#[test]
fn bad_input_is_reported_in_one_line_that_names_it() {
    let cases: [(&[&str], &str); 12] = [
        (&["h", "1.2.3"], "resolver \"1.2.3\""),
        (&["h", "resolver.example"], "resolver \"resolver.example\""),
        (&["h", "127.0.0.1:99999"], "resolver \"127.0.0.1:99999\""),
        (&["h", "[127.0.0.1]"], "resolver \"[127.0.0.1]\""),
        // The resolver before it is valid.
        (&["h", "[::1]", "1.2.3"], "resolver \"1.2.3\""),
        (&["host.example"], "host \"host.example\""),
        (&["", "127.0.0.1"], "host \"\""),
        (&["a..b", "127.0.0.1"], "host \"a..b\""),
        (&["a\nb..", "127.0.0.1"], "host \"a\\nb..\""),
        (&["--delay", "5", "h"], "--delay \"5\""),
        (&["--delay"], "--delay"),
        (&["--frob\n"], "--frob"),
    ];
    for (args, named) in cases {
        let ended = run("dns", args);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{args:?}"
        );
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        let line = ended.stderr.strip_prefix("dns: ");
        assert!(
            line.is_some_and(|line| line.contains(named)),
            "{}",
            ended.stderr
        );
    }
}
