use std::{io, net::SocketAddr};

use crate::Family;

/// What a resolver says about a host. A stream of answers ends when no more will come.
#[derive(Debug)]
#[non_exhaustive]
pub enum Answer {
    /// Addresses in the order in which to try them. A later answer adds to an earlier one; known
    /// addresses are ignored.
    Addresses(Vec<SocketAddr>),
    /// There are no more addresses of this family. Without it, the end of the stream says so for
    /// both.
    Ended(Family),
    /// The query for this family failed. It has no more addresses.
    Failed(Family, io::Error),
    /// The query for both families failed. There are no more addresses.
    FailedForBoth(io::Error),
    /// These addresses are not valid any more. Those that have not started are taken out.
    Withdrawn(Vec<SocketAddr>),
}
