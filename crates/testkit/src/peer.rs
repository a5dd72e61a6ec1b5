//! A client of the server, one line at a time.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, ErrorKind, Write},
    net::{Shutdown, SocketAddr, TcpStream},
};

use serde_json::Value;

use crate::PATIENCE;

/// A connection that sends bytes and looks for lines in any order.
#[derive(Debug)]
pub struct Peer {
    reader: BufReader<TcpStream>,
    /// Lines that arrived before the one that was looked for.
    passed: VecDeque<(String, Value)>,
    tags: u32,
}

impl Peer {
    /// Connects.
    #[must_use]
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server accepts");
        stream.set_nodelay(true).expect("it is a socket");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("it is a socket");
        Self {
            reader: BufReader::new(stream),
            passed: VecDeque::new(),
            tags: 0,
        }
    }

    /// The socket.
    #[must_use]
    pub fn stream(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    /// Sends bytes as they are.
    pub fn raw(&self, bytes: impl AsRef<[u8]>) {
        let sent = self.stream().write_all(bytes.as_ref());
        sent.expect("the server takes it");
    }

    /// Sends a line.
    pub fn send(&self, line: impl AsRef<str>) {
        self.raw(format!("{}\n", line.as_ref()));
    }

    /// The next line, unparsed. `None` at the end of the connection.
    pub fn line(&mut self) -> Option<String> {
        match self.passed.pop_front() {
            Some((line, _)) => Some(line),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => {
                assert!(line.ends_with('\n'), "a line is cut short: {line}");
                line.pop();
                Some(line)
            }
            // Bytes arrived at the server after it had closed the socket.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no line came: {error}; those before: {:?}", self.passed),
        }
    }

    /// The next wanted line. Lines before it are kept for later calls.
    pub fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let index = self.passed.iter().position(|(_, line)| wanted(line));
        if let Some((_, line)) = index.and_then(|index| self.passed.remove(index)) {
            return line;
        }
        loop {
            let Some(line) = self.read() else {
                panic!("the connection ended; there were: {:?}", self.passed);
            };
            let found = value(&line);
            if wanted(&found) {
                return found;
            }
            self.passed.push_back((line, found));
        }
    }

    /// The next line of a kind.
    pub fn kind(&mut self, kind: &str) -> Value {
        self.find(|line| line["kind"] == kind)
    }

    /// The next delivery.
    pub fn delivery(&mut self) -> Value {
        self.kind("delivery")
    }

    /// Sends a request with a tag, and returns the reply or the error.
    pub fn ask(&mut self, request: &str) -> Value {
        let tag = self.ask_later(request);
        self.answer(&tag)
    }

    /// Sends a request with a tag, and returns the tag.
    pub fn ask_later(&mut self, request: &str) -> String {
        self.tags += 1;
        let tag = format!("t{}", self.tags);
        let fields = request.strip_prefix('{').expect("it is an object");
        self.send(format!(r#"{{"tag":"{tag}",{fields}"#));
        tag
    }

    /// The reply to the request with this tag.
    pub fn answer(&mut self, tag: &str) -> Value {
        self.find(|line| line["tag"] == tag)
    }

    /// Sends a request, and asserts that this is the next line.
    pub fn exact(&mut self, request: &str, reply: &str) {
        self.send(request);
        assert_eq!(self.line().as_deref(), Some(reply), "to {request}");
    }

    /// Asserts that no line is left. A ping makes sure that all earlier requests were answered.
    pub fn quiet(&mut self) {
        let pong = self.ask(r#"{"kind":"ping"}"#);
        assert_eq!(pong["kind"], "pong");
        assert!(self.passed.is_empty(), "there came {:?}", self.passed);
    }

    /// Closes the sending half of the connection.
    pub fn finish_writing(&self) {
        self.stream().shutdown(Shutdown::Write).expect("it is open");
    }

    /// All lines to the end of the connection.
    pub fn rest(&mut self) -> Vec<Value> {
        let lines = std::iter::from_fn(|| self.line());
        lines.map(|line| value(&line)).collect()
    }
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}
