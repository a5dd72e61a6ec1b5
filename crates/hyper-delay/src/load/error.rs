use std::io;

/// Why a measurement came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no connection.
    #[error("cannot connect to {address}: {source}; is the server running there?")]
    Connect {
        /// The address as it was given.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// A connection broke.
    #[error("a connection to the server broke: {0}; the server's log tells more")]
    Broken(#[from] io::Error),
    /// The server closed a connection.
    #[error("the server closed a connection; its log tells why")]
    Closed,
    /// The server refused a request, or says what nothing was asked for.
    #[error("the server answered {0}; does it allow these connections and payloads?")]
    Answer(String),
    /// The server's process cannot be looked at.
    #[error("process {pid} cannot be looked at: {source}; give the process id of the server")]
    Process {
        /// Its id.
        pid: u32,
        /// What the system says.
        source: io::Error,
    },
}
