use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, ErrorKind, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// How long a line may take that must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client that sends bytes and reads lines.
pub(crate) struct Peer {
    reader: BufReader<TcpStream>,
    /// Lines that came before the one that was looked for.
    passed: VecDeque<(String, Value)>,
    tags: u32,
}

impl Peer {
    pub(crate) fn connect(address: SocketAddr) -> Self {
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

    pub(crate) fn stream(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&self, bytes: impl AsRef<[u8]>) {
        let sent = self.stream().write_all(bytes.as_ref());
        sent.expect("the server takes it");
    }

    /// Sends a line.
    pub(crate) fn send(&self, line: impl AsRef<str>) {
        self.raw(format!("{}\n", line.as_ref()));
    }

    /// The next line as it came, or none at the end.
    pub(crate) fn line(&mut self) -> Option<String> {
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
            // What was sent to a server that read no more.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no line came: {error}; those before: {:?}", self.passed),
        }
    }

    /// The next line that is wanted; those before it stay.
    pub(crate) fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let place = self.passed.iter().position(|(_, line)| wanted(line));
        if let Some((_, line)) = place.and_then(|place| self.passed.remove(place)) {
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
    pub(crate) fn kind(&mut self, kind: &str) -> Value {
        self.find(|line| line["kind"] == kind)
    }

    pub(crate) fn delivery(&mut self) -> Value {
        self.kind("delivery")
    }

    /// The reply to a request, or the error.
    pub(crate) fn ask(&mut self, request: &str) -> Value {
        let tag = self.ask_later(request);
        self.answer(&tag)
    }

    /// Sends a request with a tag, which it tells.
    pub(crate) fn ask_later(&mut self, request: &str) -> String {
        self.tags += 1;
        let tag = format!("t{}", self.tags);
        let fields = request.strip_prefix('{').expect("it is an object");
        self.send(format!(r#"{{"tag":"{tag}",{fields}"#));
        tag
    }

    pub(crate) fn answer(&mut self, tag: &str) -> Value {
        self.find(|line| line["tag"] == tag)
    }

    /// Sends a request; the next line must be this.
    pub(crate) fn exact(&mut self, request: &str, reply: &str) {
        self.send(request);
        assert_eq!(self.line().as_deref(), Some(reply), "to {request}");
    }

    /// Nothing has come that was not looked for, and nothing is to come for what happened so far.
    pub(crate) fn quiet(&mut self) {
        let pong = self.ask(r#"{"kind":"ping"}"#);
        assert_eq!(pong["kind"], "pong");
        assert!(self.passed.is_empty(), "there came {:?}", self.passed);
    }

    /// Ends this side of the connection.
    pub(crate) fn say_no_more(&self) {
        self.stream().shutdown(Shutdown::Write).expect("it is open");
    }

    /// All lines to the end, which must come.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let lines = std::iter::from_fn(|| self.line());
        lines.map(|line| value(&line)).collect()
    }
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}
