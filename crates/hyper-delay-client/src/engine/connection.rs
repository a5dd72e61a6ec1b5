use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::settings::Settings;
use crate::wire::{Head, Lines, Request};
use crate::{Code, ConnectError, Refusal};

/// The highest version of the protocol that this client speaks.
const PROTOCOL: u64 = 2;

/// A connection on which the server has answered the `hello`.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) lines: Lines,
}

impl Connection {
    pub(crate) async fn open(settings: &Settings) -> Result<Self, ConnectError> {
        let (address, limit) = (&settings.address, settings.connect_timeout);
        let opened = timeout(limit, Self::try_open(settings)).await;
        opened.unwrap_or_else(|_| {
            Err(ConnectError::TimedOut {
                address: address.clone(),
                limit,
            })
        })
    }

    /// Sends `hello` and waits for the reply. The reply proves that the server accepts this client;
    /// a server before protocol 2 answers `unknown_kind`, which proves the same.
    async fn try_open(settings: &Settings) -> Result<Self, ConnectError> {
        let address = || settings.address.clone();
        let broken = |source| ConnectError::Io {
            address: address(),
            source,
        };

        let hello = Request {
            protocol: Some(PROTOCOL),
            ..Request::of("hello")
        };
        let mut stream = TcpStream::connect(&settings.address)
            .await
            .map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        stream.write_all(&hello.line()).await.map_err(broken)?;

        let mut lines = Lines::new(settings.max_line_bytes);
        loop {
            let invalid = |error| broken(io::Error::new(io::ErrorKind::InvalidData, error));
            while let Some(line) = lines.next().map_err(invalid)? {
                match serde_json::from_slice::<Head<'_>>(line) {
                    Ok(head) if head.kind() == "hello" => return Ok(Self { stream, lines }),
                    Ok(head) if head.kind() == "error" => {
                        let source: Refusal =
                            serde_json::from_slice(line).map_err(|error| broken(error.into()))?;
                        if source.code == Code::UnknownKind {
                            tracing::debug!(address = address(), "the server speaks protocol 1");
                            return Ok(Self { stream, lines });
                        }
                        return Err(ConnectError::Refused {
                            address: address(),
                            source,
                        });
                    }
                    _ => {}
                }
            }
            match lines.fill(&mut stream).await {
                Ok(0) => return Err(ConnectError::Closed { address: address() }),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(ConnectError::Closed { address: address() });
                }
                Err(error) => return Err(broken(error)),
            }
        }
    }
}
