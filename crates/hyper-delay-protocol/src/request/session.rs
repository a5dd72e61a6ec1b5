//! The requests that a connection answers.

/// A request that the connection answers itself. It needs no right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionRequest {
    /// Asks for a version of the protocol.
    Hello {
        /// The highest version that the client speaks, from 1.
        protocol: u64,
        /// Whether the connection refuses fields that a request does not have. Default: false.
        strict: bool,
    },
    /// Shows who the client is, by the token of its line.
    Auth,
}
