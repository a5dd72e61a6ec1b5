use crate::Refusal;

/// Why there are no more deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The client was closed.
    Closed,
    /// Another consumer took the route. The client does not take it back.
    Replaced,
    /// The server refused the registration after a reconnect.
    Refused(Refusal),
    /// The server unregistered the route for a reason of a newer server.
    #[non_exhaustive]
    Unregistered {
        /// The reason on the wire.
        reason: String,
    },
}
