//! The winner closes the connections of the losers before the process ends.

use std::{
    env::temp_dir,
    fs,
    io::Write as _,
    process::{Command, id},
    sync::mpsc,
    thread,
};

use testkit::{PATIENCE, example::start, process::finish};

use crate::{
    RUNTIMES,
    server::{OK, mirror, stalls},
};

/// A pipe without a reader blocks the process while it writes the body.
#[test]
fn winner_closes_the_connections_of_losers() {
    for runtime in RUNTIMES {
        let pipe = temp_dir().join(format!("mirrors-{}-{runtime}-pipe", id()));
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let (loser, told) = stalls();
        let (asked, may_answer) = mpsc::channel();
        let winner = mirror(move |stream, _| {
            may_answer.recv_timeout(PATIENCE).unwrap();
            let _ = stream.write_all(OK.as_bytes());
        });

        let times = ["--delay", "0s", "--timeout", "1h"];
        let rest = ["--runtime", runtime, "--output", pipe.to_str().unwrap()];
        let args = [&times[..], &rest, &[&loser, &winner]].concat();
        let mut child = start("mirrors", &args);
        assert_eq!(told.recv_timeout(PATIENCE), Ok("asked"));
        asked.send(()).unwrap();
        assert_eq!(told.recv_timeout(PATIENCE), Ok("closed"));
        let status = child.try_wait().unwrap();
        assert!(status.is_none(), "its end has closed all there was");

        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe)
        });
        let ended = finish(child);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        assert_eq!(reader.join().unwrap().unwrap(), "body");
        fs::remove_file(&pipe).unwrap();
    }
}
