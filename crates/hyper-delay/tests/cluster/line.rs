//! A connection that may fail at any time.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::{Value, json};

/// A client gives a node up that says nothing for this long.
const SILENCE: Duration = Duration::from_millis(700);

/// A connection to a node.
pub(crate) struct Line {
    reader: BufReader<TcpStream>,
    /// What was read of a line that has not ended.
    partial: String,
}

/// What came.
pub(crate) enum Came {
    Line(Value),
    /// Nothing for some time.
    Nothing,
    /// The connection has ended.
    End,
}

impl Line {
    /// Connects. `None`: nobody listens there.
    pub(crate) fn connect(address: SocketAddr) -> Option<Self> {
        let stream = TcpStream::connect_timeout(&address, SILENCE).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(SILENCE)).ok()?;
        stream.set_write_timeout(Some(SILENCE)).ok()?;
        Some(Self {
            reader: BufReader::new(stream),
            partial: String::new(),
        })
    }

    /// Asks for a strict connection or not, and sends a field that no request has.
    pub(crate) fn greet(&self, strict: bool) -> bool {
        // In version 1, a schedule is answered with `ack`.
        self.send(&json!({"kind": "hello", "protocol": 1, "strict": strict}))
            && self.send(&json!({"kind": "ping", "wings": 2, "tag": "greeting"}))
    }

    /// Whether a line answers [`greet`](Self::greet), as it must.
    pub(crate) fn is_greeting(line: &Value, strict: bool) -> bool {
        let refused = line["code"] == "bad_field";
        if line["kind"] == "hello" {
            assert_eq!(line["strict"] == true, strict, "{line}");
        } else if line["tag"] == "greeting" && line["code"] != "shutting_down" {
            assert_eq!(refused, strict, "{line}");
        } else {
            return false;
        }
        true
    }

    /// Sends a line. `false`: the connection has ended.
    pub(crate) fn send(&self, line: &Value) -> bool {
        let line = format!("{line}\n");
        self.reader.get_ref().write_all(line.as_bytes()).is_ok()
    }

    /// Waits for a line, not for long.
    pub(crate) fn next(&mut self) -> Came {
        match self.reader.read_line(&mut self.partial) {
            Ok(0) => Came::End,
            Ok(_) if self.partial.ends_with('\n') => {
                let line = serde_json::from_str(&self.partial).expect("the node sends JSON");
                self.partial.clear();
                Came::Line(line)
            }
            Ok(_) => Came::End,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => Came::Nothing,
            Err(_) => Came::End,
        }
    }
}
