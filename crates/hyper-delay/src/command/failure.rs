use std::{error::Error, io, net::SocketAddr};

use hyper_delay::{ServeError, config::ConfigError, load::LoadError};
use hyper_delay_client::{CloseError, ConnectError, ListenError, RequestError};

/// Why a command did not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the runtime could not be started: {0}")]
    Runtime(io::Error),
    #[error("signals cannot be caught: {0}")]
    Signal(io::Error),
    #[error(
        "bind_addr is {address}, where nobody can listen: {source}; {}",
        cure(source)
    )]
    Bind {
        address: SocketAddr,
        source: io::Error,
    },
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("standard input cannot be read: {0}")]
    Input(io::Error),
    #[error("standard output cannot be written: {0}")]
    Output(io::Error),
    #[error("{source}; start a server with `hyper-delay`, or name one with --addr")]
    Connect {
        #[source]
        source: Told<ConnectError>,
    },
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Close(#[from] CloseError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("route {route:?} has no task {id:?}: it is done, or gone, or never was")]
    NoTask { route: String, id: String },
    #[error("route {route:?} has no dead letter {id:?}: list them with `hyper-delay dead {route}`")]
    NoDeadLetter { route: String, id: String },
    #[error("{early} tasks were delivered before their time, which no server may do")]
    Early { early: u64 },
}

impl Failure {
    /// With all that is behind it, in one line.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Connect { .. } => self.to_string(),
            Self::Listen(error) => chain(error),
            Self::Request(error) => chain(error),
            _ => self.to_string(),
        }
    }
}

impl From<ConnectError> for Failure {
    fn from(source: ConnectError) -> Self {
        Self::Connect {
            source: Told(source),
        }
    }
}

/// An error that is displayed with its sources.
#[derive(Debug)]
pub(crate) struct Told<E>(E);

impl<E: Error> std::fmt::Display for Told<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&chain(&self.0))
    }
}

impl<E: Error> Error for Told<E> {}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}

fn cure(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "end the program that has it, or set another; port 0 is any that is free"
        }
        io::ErrorKind::AddrNotAvailable => {
            "set an address that this machine has; 0.0.0.0 stands for all of them"
        }
        io::ErrorKind::PermissionDenied => {
            "set a port above 1023, or run it as somebody who may have this one"
        }
        _ => "set another",
    }
}
