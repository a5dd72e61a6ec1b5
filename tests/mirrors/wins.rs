//! Races with a winner.

use std::{env::temp_dir, fs, io::Write as _, process::id};

use testkit::{Ended, example::run};

use crate::{
    RUNTIMES, line,
    server::{OK, mirror, repeats, says},
};

#[track_caller]
fn assert_won(ended: &Ended) {
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[track_caller]
fn assert_line(ended: &Ended, index: &str, what: &str) {
    assert!(line(ended, index).contains(what), "{}", ended.stdout);
}

#[test]
fn good_mirror_wins_the_demo_on_each_runtime() {
    for runtime in RUNTIMES {
        let ended = run("mirrors", &["--runtime", runtime]);
        assert_won(&ended);
        assert_line(&ended, "#0 ", "╌ cancelled");
        assert_line(&ended, "#1 ", "✗ 503 Service Unavailable");
        assert_line(&ended, "#2 ", "╌ cancelled");
        assert_line(&ended, "#3 ", "● won: 1056 bytes after ");
    }
}

#[test]
fn truncated_body_loses() {
    let cut = says("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\ncut");
    let ended = run("mirrors", &["--delay", "1h", &cut, &says(OK)]);
    assert_won(&ended);
    assert_line(&ended, "#0 ", "✗ body truncated: ");
    assert_line(&ended, "#1 ", "● won: 4 bytes after ");
}

/// The first mirror never pauses. It must fail or yield, so that the second one wins.
#[test]
fn busy_mirror_delays_no_other_on_each_runtime() {
    for runtime in RUNTIMES {
        let early = repeats("", "HTTP/1.1 103 Early Hints\r\n\r\n");
        let endless = repeats("HTTP/1.1 200 OK\r\n\r\n", "and so on ");
        let args = ["--runtime", runtime, "--timeout", "1h", "--delay"];
        for (step, url) in [("1h", &early), ("0s", &early), ("0s", &endless)] {
            let ended = run("mirrors", &[&args[..], &[step, url, &says(OK)]].concat());
            assert_won(&ended);
            assert_line(&ended, "#1 ", "● won: 4 bytes after ");
            if step == "1h" {
                assert_line(&ended, "#0 ", "✗ HTTP failed: no answer");
            }
        }
    }
}

#[test]
fn body_of_the_winner_is_written_to_the_file() {
    let url = mirror(|stream, request| {
        let body = request.join("\n");
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}", body.len());
        let _ = write!(stream, "{head}\r\n\r\n{body}");
    });
    let authority = &url["http://".len()..url.len() - "/file?x=1".len()];
    for runtime in RUNTIMES {
        let file = temp_dir().join(format!("mirrors-{}-{runtime}", id()));
        let path = file.to_str().unwrap();
        let ended = run("mirrors", &["--runtime", runtime, "--output", path, &url]);
        assert_won(&ended);
        let body = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert!(body.starts_with("GET /file?x=1 HTTP/1.1\n"), "{body}");
        assert!(body.contains(&format!("host: {authority}\n")), "{body}");
    }
}
