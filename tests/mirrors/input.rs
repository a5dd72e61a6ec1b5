//! The command line and the standard output.

use std::{io::Write as _, sync::mpsc};

use testkit::{
    PATIENCE,
    example::{run, start},
    process::finish,
};

use crate::server::{OK, mirror};

#[test]
fn bad_input_is_reported_in_one_line_that_names_it() {
    let cases: [(&[&str], &str, &str); 22] = [
        (&["example.org/file"], "url \"example.org/file\"", "http://"),
        (&["file"], "url \"file\"", "http://"),
        (&["http://a b/"], "url \"http://a b/\"", "http://HOST"),
        (&["http://h/\n"], "url \"http://h/\\n\"", "http://HOST"),
        (&["ftp://host/file"], "url \"ftp://host/file\"", "https://"),
        (&["http:///file"], "url \"http:///file\"", "missing host"),
        (&["https://"], "url \"https://\"", "missing host"),
        (&["http://:80/"], "url \"http://:80/\"", "missing host"),
        (&["http://[::1]x/"], "\"x\" after the host", "[:PORT]"),
        (&["http://[h]/"], "\"[h]\"", "not an IPv6 address"),
        (&["http://h:+80/"], "\"+80\"", "1 to 65535"),
        (&["http://h:/"], "port \"\"", "1 to 65535"),
        (&["http://host:99999/"], "\"99999\"", "1 to 65535"),
        (
            &["http://me:pw@host/"],
            "url",
            "passwords are not supported",
        ),
        (&["--delay", "5"], "--delay \"5\"", "50ms"),
        (&["--timeout", "soon"], "--timeout \"soon\"", "50ms"),
        (
            &["--runtime", "threads"],
            "\"threads\"",
            "tokio, async-io, smol or thread",
        ),
        (&["--frob"], "'--frob'", "--runtime"),
        (&["--a\nb"], "--a b", "--runtime"),
        (&["--delay"], "'--delay'", "--help"),
        (&["--output="], "--output \"\"", "give the path"),
        (&["--output", ""], "--output \"\"", "give the path"),
    ];
    for (args, named, cure) in cases {
        let ended = run("mirrors", args);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{args:?}"
        );
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(named), "{}", ended.stderr);
        assert!(ended.stderr.contains(cure), "{}", ended.stderr);
    }
}

#[test]
fn url_may_contain_another_url() {
    for rest in ["?u=http://", "?u=http:///y", "x:///y", "://"] {
        let line = format!("GET /{rest} HTTP/1.1");
        let url = mirror(move |stream, request| {
            assert_eq!(request[0], line);
            let _ = stream.write_all(OK.as_bytes());
        });
        let url = url.replace("file?x=1", rest);
        let ended = run("mirrors", &[&url]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn help_exits_with_success() {
    let ended = run("mirrors", &["--help"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains("usage: mirrors"), "{}", ended.stdout);
}

#[test]
fn closed_stdout_is_not_an_error() {
    let (gone, may_answer) = mpsc::channel();
    let url = mirror(move |stream, _| {
        may_answer.recv_timeout(PATIENCE).unwrap();
        let _ = stream.write_all(OK.as_bytes());
    });
    let mut child = start("mirrors", &["--timeout", "1h", &url]);
    drop(child.stdout.take());
    gone.send(()).unwrap();
    let ended = finish(child);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}
