mod lost_tasks;
mod sources;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use hyper_delay_client::{CloseError, ConnectError, ListenError, RequestError, TokenError};

pub(crate) use self::{lost_tasks::LostTasks, sources::WithSources};

use self::sources::chain;
use super::shell;
use crate::load::LoadError;
use hyper_delay_archive::{backup::BackupError, salvage::SalvageError};
use hyper_delay_config::ConfigError;
use hyper_delay_protocol::{access::TokenFileError, inflate::InflateError};
use hyper_delay_server::ServeError;

#[cfg(feature = "cluster")]
use hyper_delay_cluster::{
    admin::AdminError, import::ImportError, log::etcd::config::EtcdConfigError,
    setup::PasswordError,
};

/// The error of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the runtime could not be started: {0}")]
    Runtime(io::Error),
    #[error("signal handlers could not be installed: {0}")]
    Signal(io::Error),
    #[error(
        "{field} is {address}, and listening on it failed: {source}; {}",
        cure(source)
    )]
    Bind {
        field: &'static str,
        address: SocketAddr,
        source: io::Error,
    },
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("standard input cannot be read: {0}")]
    Input(io::Error),
    #[error("standard output cannot be written: {}{}", .0, cut(.0))]
    Output(io::Error),
    #[error("standard error cannot be written: {0}")]
    Report(io::Error),
    #[error("{source}; start a server with `hyper-delay`, or name one with --addr")]
    Connect {
        #[source]
        source: WithSources<ConnectError>,
    },
    #[error("{source}; check --addr, --tls-ca, --tls-cert, --tls-key and --tls-name")]
    Tls {
        #[source]
        source: WithSources<ConnectError>,
    },
    #[error("{source}; check --token-file, HYPER_DELAY_TOKEN and HYPER_DELAY_TOKEN_FILE")]
    Token {
        #[source]
        source: WithSources<ConnectError>,
    },
    #[error("HYPER_DELAY_TOKEN: {0}")]
    Variable(TokenError),
    #[error("{source}")]
    Refused {
        #[source]
        source: WithSources<ConnectError>,
    },
    #[error(transparent)]
    Request(RequestError),
    #[error(
        "no reply within {limit:?}: the server may wait for room on its disk or, in a cluster, for \
         most of its nodes; see its log. What was asked for may still take effect"
    )]
    NoReply { limit: Duration },
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Close(#[from] CloseError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("task {id:?}: {error}; leave out --decompress to print the payload as it is stored")]
    Decompress { id: String, error: DecompressError },
    #[error(
        "route {route:?} has no task {id:?}: it is done, removed or expired, or was never \
         scheduled; check the route and the id"
    )]
    NoTask { route: String, id: String },
    #[error(
        "task {id:?} of route {route:?} is in flight, so it is not moved: look at it with \
         `hyper-delay get`, and repeat the command once its round has ended"
    )]
    InFlight { route: String, id: String },
    #[error(
        "task {id:?} of route {route:?} is dead, so it is not moved: `{}` makes it due now, with all \
         its attempts",
        shell::kick(route, id)
    )]
    Dead { route: String, id: String },
    #[error(
        "route {route:?} has no dead letter {id:?}: list them with `{}`",
        shell::list_dead(route)
    )]
    NoDeadLetter { route: String, id: String },
    #[error("job {number} is not running: list the jobs with `hyper-delay jobs`")]
    NoJob { number: u64 },
    #[error(
        "job {number} is {state}; tasks that it has changed: {changed}; see the log of the server"
    )]
    Job {
        number: u64,
        state: String,
        changed: u64,
    },
    #[error("{question} standard input is no terminal to ask on: give --yes")]
    Unconfirmed { question: String },
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
        "what is readable is saved; tasks that are lost: {lost}, findings about missing commits: {missing}"
    )]
    Incomplete { lost: LostTasks, missing: usize },
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{source}: the server has ended in the middle of the backup; make the backup again")]
    BackupCut {
        #[source]
        source: RequestError,
    },
    #[error(
        "{} is a file: give a folder, in which the backup gets a name of its own, or - for \
         standard output",
        .0.display()
    )]
    NoFolder(PathBuf),
    #[error("{} is a folder: give {wanted}, which is a file, or - for standard input", path.display())]
    Folder { path: PathBuf, wanted: &'static str },
    #[error("{} contains no store: it does not exist; give the data_dir of a server, or a backup", .0.display())]
    NothingToVerify(PathBuf),
    #[cfg(feature = "cluster")]
    #[error(
        "{} is no folder: give the data_dir of a stopped server; a backup becomes one with \
         `hyper-delay restore`",
        .0.display()
    )]
    NothingToImport(PathBuf),
    #[error("standard output is a terminal: redirect it to a file or a pipe, or give a folder")]
    Terminal,
    #[error(
        "lines that were refused: {refused}; mend them and import the file again: a task that is \
         there already does not change"
    )]
    LinesRefused { refused: u64 },
    #[error(
        "lines that were refused: {refused}; the other tasks are in {}: mend the lines, and import \
         them into the server that uses it, or import the whole file into another new directory",
        to.display()
    )]
    LinesRefusedTo { refused: u64, to: PathBuf },
    #[error(
        "{refused} lines in a row were refused, so this is no export: give the output of \
         `hyper-delay export`; tasks that were imported: {imported}"
    )]
    NoExport { refused: u32, imported: u64 },
    #[error(
        "line {line}: {}; other lines may be imported: import the file again, a task that is there \
         already does not change",
        chain(source)
    )]
    Import { line: u64, source: RequestError },
    /// A failure that is in the log.
    #[error(transparent)]
    Logged(Box<Self>),
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    #[error("the token cannot be made: {0}")]
    NewToken(String),
    #[error(
        "{} has no token {id:?}: list them with `hyper-delay token list`",
        file.display()
    )]
    NoToken { id: String, file: PathBuf },
    #[cfg(feature = "cluster")]
    #[error(
        "{configuration}: cluster is null: set etcd, node and advertise in it, or give the \
         configuration of a node with --config"
    )]
    NotInCluster { configuration: String },
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Password(#[from] PasswordError),
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Etcd(#[from] EtcdConfigError),
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Cluster(#[from] AdminError),
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    ClusterImport(#[from] ImportError),
    #[cfg(feature = "cluster")]
    #[error("{0}")]
    ClusterIsUnwell(String),
    #[error("{early} tasks were delivered before their time: report this defect of the server")]
    Early { early: u64 },
}

/// The reason why `get` does not decompress a payload.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecompressError {
    #[error("its payload is longer than 16 MiB when it is decompressed")]
    TooLong,
    #[error("its payload is not decompressed: {0}")]
    Invalid(InflateError),
    #[error("its compression is {0:?}, which this program does not know")]
    Unknown(String),
}

impl From<InflateError> for DecompressError {
    fn from(error: InflateError) -> Self {
        match error {
            InflateError::TooLong { .. } => Self::TooLong,
            error @ InflateError::Invalid { .. } => Self::Invalid(error),
        }
    }
}

impl From<RequestError> for CommandError {
    fn from(error: RequestError) -> Self {
        match error {
            // Its message names an option of the library.
            RequestError::TimedOut { limit, .. } => Self::NoReply { limit },
            error => Self::Request(error),
        }
    }
}

impl CommandError {
    /// Returns an error if a tool could not save everything.
    pub(crate) fn incomplete(lost: LostTasks, missing: usize) -> Result<(), Self> {
        match missing == 0 && lost == LostTasks::default() {
            true => Ok(()),
            false => Err(Self::Incomplete { lost, missing }),
        }
    }

    /// Adds the path to an error of the file system.
    pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            path: path.clone(),
            source,
        }
    }

    /// Returns the exit code of the process: 3 if a tool did its work and something is lost, else
    /// 1.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Incomplete { .. } | Self::LinesRefused { .. } | Self::LinesRefusedTo { .. } => 3,
            _ => 1,
        }
    }

    /// Returns the message and those of all sources, in one line.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Listen(error) => chain(error),
            Self::Request(error) => chain(error),
            _ => self.to_string(),
        }
    }
}

impl From<SalvageError> for CommandError {
    fn from(error: SalvageError) -> Self {
        match error {
            SalvageError::Output(error) => Self::Output(error),
            error => Self::Salvage(error),
        }
    }
}

impl From<ConnectError> for CommandError {
    fn from(source: ConnectError) -> Self {
        let refused = matches!(&source, ConnectError::Refused { .. });
        let tls = matches!(&source, ConnectError::Tls { .. });
        let token = matches!(
            &source,
            ConnectError::Token { .. } | ConnectError::Forbidden { .. }
        );
        let source = WithSources::new(source);
        if token {
            return Self::Token { source };
        }
        match (refused, tls) {
            (true, _) => Self::Refused { source },
            (_, true) => Self::Tls { source },
            _ => Self::Connect { source },
        }
    }
}

/// Returns the hint after the error of an output that ends early.
fn cut(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::BrokenPipe => "; its reader has ended and has not got everything",
        _ => "",
    }
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

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        net::TcpListener,
        thread,
    };

    use hyper_delay_client::Client;

    use super::*;

    #[tokio::test]
    async fn request_without_a_reply_names_no_option_of_the_library() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.next();
            let hello = r#"{"kind":"hello","protocol":2,"server":"none 1"}"#;
            writeln!(stream, "{hello}").unwrap();
            while let Some(Ok(_)) = lines.next() {}
        });
        let builder = Client::builder(address).request_timeout(Duration::from_millis(1));
        let client = builder.connect().await.unwrap();
        let error = client.cancel("r", "x").await.unwrap_err();
        let text = CommandError::from(error).to_string();
        assert!(
            text.starts_with("no reply within 1ms: the server may wait"),
            "{text}"
        );
        assert!(!text.contains("request_timeout"), "{text}");
    }
}
