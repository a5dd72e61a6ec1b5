use std::{net::SocketAddr, time::Duration};

use crate::v3::Transport;

/// A connection, and the address that it was made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connected<C> {
    /// The connection.
    pub connection: C,
    /// The address that it was made to.
    pub address: SocketAddr,
    /// Its transport.
    pub transport: Transport,
    /// The time from the call, the resolution included.
    pub elapsed: Duration,
}
