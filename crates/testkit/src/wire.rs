//! A connection for load: one write of many requests, one read of many replies.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// A connection to a server that may be killed at any time.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    /// The start of a line whose end has not arrived.
    rest: Vec<u8>,
}

/// The connection is closed or cannot be made.
#[derive(Debug)]
pub struct Disconnected;

impl Wire {
    /// Connects.
    ///
    /// # Errors
    ///
    /// No server listens there.
    pub fn to(address: SocketAddr) -> Result<Self, Disconnected> {
        let stream = TcpStream::connect(address).map_err(|_| Disconnected)?;
        stream.set_nodelay(true).map_err(|_| Disconnected)?;
        Ok(Self {
            stream,
            rest: Vec::new(),
        })
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    ///
    /// The connection is closed.
    pub fn send(&mut self, lines: &[u8]) -> Result<(), Disconnected> {
        self.stream.write_all(lines).map_err(|_| Disconnected)
    }

    /// Waits for the next lines, at most this long, and returns all that have arrived.
    ///
    /// # Errors
    ///
    /// The connection is closed.
    pub fn receive(&mut self, wait: Duration) -> Result<Vec<Value>, Disconnected> {
        self.stream
            .set_read_timeout(Some(wait))
            .map_err(|_| Disconnected)?;
        let mut bytes = vec![0; 256 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(Disconnected),
            Ok(read) => self.rest.extend_from_slice(&bytes[..read]),
            // A read with a timeout is interrupted when the process is stopped and continued.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(_) => return Err(Disconnected),
        }
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(Vec::new());
        };
        let rest = self.rest.split_off(end + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        let lines = lines.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        Ok(lines
            .map(|line| serde_json::from_slice(line).expect("the server speaks JSON"))
            .collect())
    }
}

/// An object as a line.
#[must_use]
pub fn line(object: &Value) -> Vec<u8> {
    let mut line = object.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// A field that is a string.
#[must_use]
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_else(|| {
        panic!("{field} is missing in {object}");
    })
}
