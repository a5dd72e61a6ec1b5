use std::io;

use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::stream::Stream;
use crate::settings::Settings;
use crate::wire::{Head, Lines, Request};
use crate::{Code, ConnectError, Refusal, TokenError};

/// The highest version of the protocol that this client speaks.
const PROTOCOL: u64 = 2;

/// The line that shows a token. Unlike a [`Request`], it cannot be printed.
#[derive(Serialize)]
struct Auth<'a> {
    kind: &'static str,
    token: &'a str,
}

/// A connection on which the server has answered the `hello`.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) stream: Stream,
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

    /// Sends the token, if there is one, and `hello`, and waits for the replies. They prove that
    /// the server accepts this client. The connection is strict, so that no field is ignored; a
    /// server before 0.4 does not know that. A server before protocol 2 answers `unknown_kind` to
    /// `hello`, and one without tokens to `auth`, which proves the same.
    async fn try_open(settings: &Settings) -> Result<Self, ConnectError> {
        let address = || settings.address.clone();
        let broken = |source| ConnectError::of(address(), source);

        let hello = Request {
            protocol: Some(PROTOCOL),
            strict: Some(true),
            ..Request::of("hello")
        };
        let no_token = |source| ConnectError::Token {
            address: address(),
            source,
        };
        let mut opening = Vec::new();
        let mut is_authenticated = true;
        if let Some(token) = &settings.token {
            let token = token.read().await.map_err(no_token)?;
            let auth = Auth {
                kind: "auth",
                token: &token,
            };
            serde_json::to_writer(&mut opening, &auth).expect("strings are always JSON");
            opening.push(b'\n');
            is_authenticated = false;
        }
        opening.extend(hello.line());
        let mut stream = Stream::open(settings).await?;
        if !is_authenticated && !stream.is_private() {
            return Err(no_token(TokenError::Unencrypted));
        }
        stream.write_all(&opening).await.map_err(broken)?;
        stream.flush().await.map_err(broken)?;

        let mut lines = Lines::new(settings.max_line_bytes);
        loop {
            let invalid = |error| broken(io::Error::new(io::ErrorKind::InvalidData, error));
            while let Some(line) = lines.next().map_err(invalid)? {
                match serde_json::from_slice::<Head<'_>>(line) {
                    Ok(head) if head.kind() == "authenticated" => is_authenticated = true,
                    Ok(head) if head.kind() == "hello" => return Ok(Self { stream, lines }),
                    Ok(head) if head.kind() == "error" => {
                        let source: Refusal =
                            serde_json::from_slice(line).map_err(|error| broken(error.into()))?;
                        if source.code == Code::UnknownKind && !is_authenticated {
                            tracing::debug!(address = address(), "the server has no tokens");
                            is_authenticated = true;
                            continue;
                        }
                        if source.code == Code::Forbidden && settings.token.is_some() {
                            return Err(ConnectError::Forbidden {
                                address: address(),
                                source,
                            });
                        }
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
                // A TLS session that ends without an announcement is `UnexpectedEof`.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof
                    ) =>
                {
                    return Err(ConnectError::Closed { address: address() });
                }
                Err(error) => return Err(broken(error)),
            }
        }
    }
}
