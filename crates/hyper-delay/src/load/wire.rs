//! A connection whose both directions are driven at once, by one task.

use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{LoadError, reply::Reply};
use crate::protocol::Lines;

/// The longest line that any server sends.
const LONGEST: usize = 16 << 20;

/// Bytes on their way out, and lines that have come in.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    lines: Lines,
    /// What is to be sent.
    pub out: Vec<u8>,
    /// How much of it is.
    sent: usize,
}

impl Wire {
    /// Connects to a host and a port.
    ///
    /// # Errors
    ///
    /// If nobody is there.
    pub async fn connect(address: &str) -> Result<Self, LoadError> {
        let connected = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        let stream = connected.await.map_err(|source| LoadError::Connect {
            address: address.to_owned(),
            source,
        })?;
        Ok(Self {
            stream,
            lines: Lines::new(LONGEST),
            out: Vec::new(),
            sent: 0,
        })
    }

    /// Sends as much as there is room for, and waits until something has come.
    ///
    /// # Errors
    ///
    /// If the connection is broken or closed.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub async fn turn(&mut self) -> Result<(), LoadError> {
        poll_fn(|context| {
            self.send(context)?;
            match pin!(self.stream.read_buf(self.lines.room())).poll(context)? {
                Poll::Ready(0) => Poll::Ready(Err(LoadError::Closed)),
                Poll::Ready(_) => Poll::Ready(Ok(())),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    fn send(&mut self, context: &mut Context<'_>) -> Result<(), LoadError> {
        while self.sent < self.out.len() {
            match pin!(self.stream.write(&self.out[self.sent..])).poll(context)? {
                Poll::Ready(sent) => self.sent += sent,
                Poll::Pending => return Ok(()),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// The next line that has come, whatever it says.
    pub fn line(&mut self) -> Option<Result<&[u8], LoadError>> {
        let line = self.lines.next()?;
        Some(line.map_err(|too_long| LoadError::Answer(too_long.to_string())))
    }

    /// The next line that has come.
    pub(super) fn next(&mut self) -> Option<Result<Reply, LoadError>> {
        Some(self.line()?.and_then(Reply::read))
    }
}
