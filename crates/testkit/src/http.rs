//! Requests and answers of HTTP/1.1 in bytes.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use crate::PATIENCE;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Asks for a path on a connection of its own.
#[must_use]
#[track_caller]
pub fn get(address: SocketAddr, path: &str) -> Answer {
    get_with(address, path, "")
}

/// Asks for a path with more headers, each with its `\r\n`.
#[must_use]
#[track_caller]
pub fn get_with(address: SocketAddr, path: &str, headers: &str) -> Answer {
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{headers}");
    ask(address, &format!("{head}connection: close\r\n\r\n"))
}

/// Posts a body to a path on a connection of its own.
#[must_use]
#[track_caller]
pub fn post(address: SocketAddr, path: &str, body: &str) -> Answer {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}");
    ask(
        address,
        &format!("{head}\r\nconnection: close\r\n\r\n{body}"),
    )
}

/// Sends bytes on a connection of its own, and reads the answer.
#[must_use]
#[track_caller]
pub fn ask(address: SocketAddr, request: &str) -> Answer {
    let stream = connect(address);
    (&stream)
        .write_all(request.as_bytes())
        .expect("the server reads");
    let answer = rest(&stream);
    parse(&answer).unwrap_or_else(|| panic!("no answer of HTTP: {answer:?}"))
}

/// Connects.
#[must_use]
#[track_caller]
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    let patience = Some(PATIENCE);
    stream
        .set_read_timeout(patience)
        .expect("it is not a time of zero");
    stream
}

/// Reads until the server closes the connection.
#[must_use]
pub fn rest(mut stream: &TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8(bytes).expect("the server sends UTF-8")
}

/// Takes an answer apart. `None` if its head is not complete.
#[must_use]
pub fn parse(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?;
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        (name.to_ascii_lowercase(), value.to_owned())
    });
    Some(Answer {
        status: status.get(..3)?.parse().ok()?,
        headers: headers.collect(),
        body: body.to_owned(),
    })
}
