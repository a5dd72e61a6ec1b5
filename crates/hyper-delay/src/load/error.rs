use std::io;

/// The error of a measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Connecting failed.
    #[error("cannot connect to {address}: {source}; start the server or give its address")]
    Connect {
        /// The address as given.
        address: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// There is no TLS with the server.
    #[error("no TLS with {address}: {reason}; check the address and the TLS options")]
    Tls {
        /// The address as given.
        address: String,
        /// The cause.
        reason: String,
    },
    /// There is no token to show.
    #[error("{0}; check --token-file, HYPER_DELAY_TOKEN and HYPER_DELAY_TOKEN_FILE")]
    Token(#[from] hyper_delay_client::TokenError),
    /// A connection broke.
    #[error("a connection to the server broke: {0}; see the server's log")]
    Broken(#[from] io::Error),
    /// The server closed a connection.
    #[error("the server closed a connection; see its log for the cause")]
    Closed,
    /// The server refused a request, or sent an unexpected line.
    #[error(
        "unexpected reply: {0}; check that the server allows this number of connections and this \
         payload length"
    )]
    Answer(String),
    /// The processor time of a process could not be read.
    #[error(
        "the processor time of process {pid} cannot be read: {source}; give the process id of the \
         server"
    )]
    Process {
        /// The process id.
        pid: u32,
        /// The error of the operating system.
        source: io::Error,
    },
}
