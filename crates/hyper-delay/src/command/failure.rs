use std::{error::Error, io, net::SocketAddr, path::PathBuf};

use hyper_delay_client::{CloseError, ConnectError, ListenError, RequestError};

use crate::{ServeError, config::ConfigError, load::LoadError, salvage::SalvageError};

/// The error of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the runtime could not be started: {0}")]
    Runtime(io::Error),
    #[error("signal handlers could not be installed: {0}")]
    Signal(io::Error),
    #[error(
        "bind_addr is {address}, and listening on it failed: {source}; {}",
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
        source: WithSources<ConnectError>,
    },
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Close(#[from] CloseError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(
        "route {route:?} has no task {id:?}: it is done or was never scheduled; \
         check the route and the id"
    )]
    NoTask { route: String, id: String },
    #[error("route {route:?} has no dead letter {id:?}: list them with `hyper-delay dead {route}`")]
    NoDeadLetter { route: String, id: String },
    #[error(transparent)]
    Salvage(SalvageError),
    #[error(
        "findings: {findings}, whole tasks: {tasks}; `hyper-delay repair {} --to NEW` saves what is \
         readable in a new directory",
        directory.display()
    )]
    Damaged {
        directory: PathBuf,
        findings: u64,
        tasks: u64,
    },
    #[error(
        "what is readable is saved; tasks that are lost: {lost}, findings about missing commits: \
         {missing}"
    )]
    Incomplete { lost: u64, missing: usize },
    #[error("{early} tasks were delivered before their time: report this defect of the server")]
    Early { early: u64 },
}

impl Failure {
    /// Returns an error if a tool could not save everything.
    pub(crate) const fn incomplete(lost: u64, missing: usize) -> Result<(), Self> {
        match (lost, missing) {
            (0, 0) => Ok(()),
            (lost, missing) => Err(Self::Incomplete { lost, missing }),
        }
    }

    /// Returns the exit code of the process: 3 if a tool did its work and something is lost, else 1.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Incomplete { .. } => 3,
            _ => 1,
        }
    }

    /// Returns the message and those of all sources, in one line.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Connect { .. } => self.to_string(),
            Self::Listen(error) => chain(error),
            Self::Request(error) => chain(error),
            _ => self.to_string(),
        }
    }
}

impl From<SalvageError> for Failure {
    fn from(error: SalvageError) -> Self {
        match error {
            SalvageError::Output(error) => Self::Output(error),
            error => Self::Salvage(error),
        }
    }
}

impl From<ConnectError> for Failure {
    fn from(source: ConnectError) -> Self {
        Self::Connect {
            source: WithSources(source),
        }
    }
}

/// Displays an error and all its sources.
#[derive(Debug)]
pub(crate) struct WithSources<E>(E);

impl<E: Error> std::fmt::Display for WithSources<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&chain(&self.0))
    }
}

impl<E: Error> Error for WithSources<E> {}

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
            "end the program that uses it, or set another address; port 0 picks a free port"
        }
        io::ErrorKind::AddrNotAvailable => {
            "set an address of this machine, or 0.0.0.0 for all of them"
        }
        io::ErrorKind::PermissionDenied => {
            "set a port above 1023, or allow the user of the server to bind this one"
        }
        _ => "set another address",
    }
}
