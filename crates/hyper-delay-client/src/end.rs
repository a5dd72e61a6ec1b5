use crate::Refusal;

/// Why no more deliveries come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The client was closed.
    Closed,
    /// Another consumer has taken the route. The client does not take it back.
    Replaced,
    /// After a reconnect the server has refused to register the route.
    Refused(Refusal),
    /// The server has taken the route away, for a reason that a newer server knows.
    #[non_exhaustive]
    Unregistered {
        /// The server's word for why.
        reason: String,
    },
}
