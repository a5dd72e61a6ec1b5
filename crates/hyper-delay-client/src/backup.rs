use crate::wire::{Piece, Request};
use crate::{Client, RequestError};

/// A backup of a server: the bytes of a stream that `hyper-delay restore` reads. See
/// [`Client::backup`].
///
/// The first piece fixes the moment: the backup has everything that was acknowledged before it was
/// asked for. A backup is usable only once [`next`](Self::next) has returned `None`.
#[derive(Debug)]
pub struct Backup {
    client: Client,
    offset: u64,
    /// The connection that keeps the backup, once it is begun.
    connection: Option<u64>,
    is_over: bool,
}

impl Backup {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            offset: 0,
            connection: None,
            is_over: false,
        }
    }

    /// Returns the next bytes, or `None` at the end. The server drops a backup whose next piece is
    /// not asked for within a minute.
    ///
    /// # Errors
    ///
    /// The server refuses, its store cannot be read, or the connection is lost, as when the server
    /// ends. The backup cannot be completed then, not even on a later connection; a new one can be
    /// begun.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the piece is lost, and with it the backup.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, RequestError> {
        if self.is_over {
            return Ok(None);
        }
        let request = Request {
            offset: (self.offset > 0).then_some(self.offset),
            ..Request::of("backup")
        };
        let (piece, connection): (Piece, _) = self.client.ask_on(request, self.connection).await?;
        self.connection = Some(connection);
        self.offset += piece.data.len() as u64;
        self.is_over = !piece.more;
        Ok(piece.more.then_some(piece.data))
    }
}
