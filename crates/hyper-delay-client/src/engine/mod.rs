//! The task behind a client, which owns the connection.
//!
//! [`Session`] holds the client's state and decides which lines are sent. It has no socket and no
//! clock: commands, lines and times go in, bytes come out. `driver` has the socket and the clock.

mod command;
mod connection;
mod driver;
mod handle;
mod inbox;
mod output;
mod outstanding;
mod routes;
mod session;
mod stream;
mod watch;

pub(crate) use command::{Answer, Command, Outgoing, Registration, Sending, Unclosed};
pub(crate) use connection::Connection;
pub(crate) use driver::drive;
pub(crate) use handle::Handle;
pub(crate) use inbox::Inbox;
pub(crate) use session::Session;
