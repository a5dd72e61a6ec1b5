//! A connection in raw bytes.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

pub(crate) struct Wire {
    stream: TcpStream,
    /// What was read and is not a line yet.
    rest: Vec<u8>,
}

/// The other end is gone.
#[derive(Debug)]
pub(crate) struct Gone;

impl Wire {
    pub(crate) fn to(address: SocketAddr) -> Result<Self, Gone> {
        let stream = TcpStream::connect(address).map_err(|_| Gone)?;
        stream.set_nodelay(true).map_err(|_| Gone)?;
        Ok(Self {
            stream,
            rest: Vec::new(),
        })
    }

    pub(crate) fn send(&mut self, lines: &[u8]) -> Result<(), Gone> {
        self.stream.write_all(lines).map_err(|_| Gone)
    }

    /// The lines that have come, once some have, or none if `wait` is over.
    pub(crate) fn receive(&mut self, wait: Duration) -> Result<Vec<Value>, Gone> {
        self.stream.set_read_timeout(Some(wait)).map_err(|_| Gone)?;
        let mut bytes = vec![0; 256 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(Gone),
            Ok(read) => self.rest.extend_from_slice(&bytes[..read]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return Err(Gone),
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
pub(crate) fn line(object: &Value) -> Vec<u8> {
    let mut line = object.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// A field that is text.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_else(|| {
        panic!("{field} is missing in {object}");
    })
}

/// Unix milliseconds, by the clock that the server has too.
pub(crate) fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(now.unwrap().as_millis()).unwrap()
}
