//! What runs behind a client: one task, which owns the connection.
//!
//! [`Session`] is what the client knows, and decides what is sent. It has no socket, and no clock:
//! commands, lines and moments come in, bytes go out. `driver` has the socket and the clock.

mod command;
mod connection;
mod driver;
mod handle;
mod inbox;
mod outstanding;
mod routes;
mod session;
mod watch;

pub(crate) use command::{Command, Outgoing, Registration, Sending, Unclosed};
pub(crate) use connection::Connection;
pub(crate) use driver::drive;
pub(crate) use handle::Handle;
pub(crate) use inbox::Inbox;
pub(crate) use session::Session;
