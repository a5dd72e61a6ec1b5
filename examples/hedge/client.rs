//! Asks the server: a byte there, a byte back.

use std::{cell::RefCell, io, iter::repeat_with, net::SocketAddr, time::Duration};

use race::{source::Source, tokio::Race};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

pub(crate) struct Client {
    server: SocketAddr,
    /// Connections with nothing under way. That of a cancelled request does not come back, and so is closed:
    /// this is how the server learns that nobody waits any more.
    idle: RefCell<Vec<TcpStream>>,
}

impl Client {
    pub(crate) fn new(server: SocketAddr) -> Self {
        let idle = RefCell::default();
        Self { server, idle }
    }

    /// A request, and a second one if that takes longer than `delay`.
    pub(crate) fn race(
        &self,
        delay: Duration,
    ) -> Race<impl Source<Arg = usize, Output = io::Result<()>>> {
        Race::of(delay, repeat_with(|| self.ask())).max_attempts(2)
    }

    async fn ask(&self) -> io::Result<()> {
        let idle = self.idle.borrow_mut().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => TcpStream::connect(self.server).await?,
        };
        connection.write_u8(b'?').await?;
        connection.read_u8().await?;
        self.idle.borrow_mut().push(connection);
        Ok(())
    }
}
