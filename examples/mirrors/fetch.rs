//! One attempt: connects, sends the request and reads the whole body.
//!
//! It spawns nothing: its future owns everything, so dropping the future closes the connection.

use std::{cell::Cell, error, fmt, io, pin::pin, rc::Rc, sync::Arc};

use futures::future::{Either, select};
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::{
    Request, StatusCode,
    body::{Body as _, Bytes},
    client::conn::http1::{SendRequest, handshake},
    header::{CONNECTION, HOST, LOCATION, USER_AGENT},
};
use hyper_util::rt::TokioIo;
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring},
};

use crate::{
    mirror::Mirror,
    paced::Paced,
    runtime::{Io, Runtime},
};

/// The largest body that is accepted.
const MAX_BYTES: usize = 64 << 20;

/// Trusts the root certificates of Mozilla.
pub(crate) fn tls() -> TlsConnector {
    let roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// Returns the body of a response with status 200.
///
/// # Cancel safety
///
/// Dropping the future closes the connection.
pub(crate) async fn fetch<R: Runtime>(
    mirror: &Mirror,
    tls: &TlsConnector,
) -> Result<Bytes, FetchError> {
    let connection = R::connect(&mirror.host, mirror.port)
        .await
        .map_err(FetchError::Connect)?;
    let answered = Rc::new(Cell::new(false));
    // Below TLS, because TLS records can arrive without a pause as well.
    let connection = Paced::new(connection, Rc::clone(&answered));
    match &mirror.tls {
        None => exchange(connection, mirror, &answered).await,
        Some(name) => {
            let connection = tls.connect(name.clone(), connection).await;
            exchange(connection.map_err(FetchError::Tls)?, mirror, &answered).await
        }
    }
}

async fn exchange(
    io: impl Io,
    mirror: &Mirror,
    answered: &Cell<bool>,
) -> Result<Bytes, FetchError> {
    let (sender, connection) = handshake(TokioIo::new(io))
        .await
        .map_err(FetchError::Http)?;
    let answer = pin!(ask(sender, mirror, answered));
    match select(answer, pin!(connection)).await {
        Either::Left((answer, _)) => answer,
        // The connection is closed. The response still has what arrived before, and the error.
        Either::Right((_, answer)) => answer.await,
    }
}

async fn ask(
    mut sender: SendRequest<Empty<Bytes>>,
    mirror: &Mirror,
    answered: &Cell<bool>,
) -> Result<Bytes, FetchError> {
    let request = Request::get(mirror.path.as_str())
        .header(HOST, mirror.authority.as_str())
        .header(USER_AGENT, "race-mirrors")
        .header(CONNECTION, "close")
        .body(Empty::new())
        .expect("both parts were parsed");
    let response = sender
        .send_request(request)
        .await
        .map_err(FetchError::Http)?;
    answered.set(true);
    let status = response.status();
    if status != StatusCode::OK {
        let location = response.headers().get(LOCATION);
        let location = location.and_then(|value| value.to_str().ok());
        return Err(FetchError::Status {
            status,
            location: location.map(str::to_owned),
        });
    }
    if response.body().size_hint().lower() > MAX_BYTES as u64 {
        return Err(FetchError::TooLong); // known before it is read
    }
    match Limited::new(response.into_body(), MAX_BYTES)
        .collect()
        .await
    {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(FetchError::TooLong),
        Err(error) => Err(FetchError::Body(error)),
    }
}

/// Why a mirror failed.
#[derive(Debug)]
pub(crate) enum FetchError {
    Connect(io::Error),
    Tls(io::Error),
    Http(hyper::Error),
    Status {
        status: StatusCode,
        location: Option<String>,
    },
    TooLong,
    Body(Box<dyn error::Error + Send + Sync>),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => match error.kind() {
                // The kind is enough, without the number of the system's error.
                kind @ (io::ErrorKind::ConnectionRefused
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable
                | io::ErrorKind::TimedOut) => write!(f, "cannot connect: {kind}"),
                _ => write!(f, "cannot connect: {error}"),
            },
            Self::Tls(error) => write!(f, "TLS failed: {error}"),
            Self::Http(error) => write!(f, "HTTP failed: {}", innermost(error)),
            Self::Status { status, location } => {
                write!(f, "{}", status.as_u16())?;
                if let Some(reason) = status.canonical_reason() {
                    write!(f, " {reason}")?;
                }
                match location {
                    Some(location) if status.is_redirection() => write!(f, " to {location}"),
                    _ => Ok(()),
                }
            }
            Self::TooLong => write!(f, "longer than {} MiB", MAX_BYTES >> 20),
            Self::Body(error) => write!(f, "body truncated: {}", innermost(error.as_ref())),
        }
    }
}

impl error::Error for FetchError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Connect(error) | Self::Tls(error) => Some(error),
            Self::Http(error) => Some(error),
            Self::Body(error) => Some(error.as_ref()),
            Self::Status { .. } | Self::TooLong => None,
        }
    }
}

/// Returns the innermost source: hyper's own message says where an error happened, its source says
/// what.
fn innermost<'a>(error: &'a (dyn error::Error + 'static)) -> &'a dyn error::Error {
    match error.source() {
        Some(source) => innermost(source),
        None => error,
    }
}
