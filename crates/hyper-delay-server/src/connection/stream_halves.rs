//! The two directions of a connection, plain or encrypted.

use std::{
    io::{self, BufRead as _, ErrorKind, IoSlice, Write as _},
    mem::MaybeUninit,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use rustls::ServerConnection;
use tokio::{
    io::{AsyncRead as _, AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _, ReadBuf},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use hyper_delay_protocol::Lines;

/// The size of a read of encrypted bytes: that of the largest TLS record.
const RECORD: usize = 16 << 10;

/// Splits a connection. `tls` is the session after its handshake.
pub(super) fn split(stream: TcpStream, tls: Option<ServerConnection>) -> (ReadHalf, WriteHalf) {
    let (read, write) = stream.into_split();
    let session = tls.map(|session| TlsSession(Arc::new(Mutex::new(session))));
    let reading = session.clone().map(|session| TlsReader {
        session,
        is_first: true,
        has_ended: false,
    });
    let read = ReadHalf {
        tcp: read,
        tls: reading,
    };
    let write = WriteHalf {
        tcp: write,
        tls: session,
    };
    (read, write)
}

/// The state of an encrypted connection. Both halves need it: records are numbered, and a peer can
/// ask for new keys. It is locked while records are encrypted or decrypted, never across a wait.
#[derive(Debug, Clone)]
struct TlsSession(Arc<Mutex<ServerConnection>>);

impl TlsSession {
    fn lock(&self) -> MutexGuard<'_, ServerConnection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves decrypted bytes. Returns whether the peer has ended its side.
fn move_decrypted(session: &mut ServerConnection, into: &mut Vec<u8>) -> io::Result<bool> {
    let mut reader = session.reader();
    loop {
        let length = match reader.fill_buf() {
            Ok([]) => return Ok(true),
            Ok(bytes) => {
                into.extend_from_slice(bytes);
                bytes.len()
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        reader.consume(length);
    }
}

/// The direction from the client.
#[derive(Debug)]
pub(super) struct ReadHalf {
    tcp: OwnedReadHalf,
    tls: Option<TlsReader>,
}

#[derive(Debug)]
struct TlsReader {
    session: TlsSession,
    /// Whether nothing was read since the handshake.
    is_first: bool,
    /// Whether the client has ended its side. The end can arrive together with the last bytes,
    /// which are returned first.
    has_ended: bool,
}

impl ReadHalf {
    /// Returns the address of the client, unless the connection has ended.
    pub(super) fn peer_address(&self) -> Option<SocketAddr> {
        self.tcp.peer_addr().ok()
    }

    /// Waits for bytes and reads them. Returns 0 at the end of the connection. A buffer is
    /// allocated after the wait. Cancel safe.
    pub(super) async fn read(&mut self, lines: &mut Lines) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            self.tcp.readable().await?;
            return self.tcp.read_buf(lines.room()).await;
        };
        if let Some(decrypted) = tls.buffered(lines)? {
            return Ok(decrypted);
        }
        std::future::poll_fn(|cx| {
            loop {
                let mut space = [MaybeUninit::uninit(); RECORD];
                let mut bytes = ReadBuf::uninit(&mut space);
                ready!(Pin::new(&mut self.tcp).poll_read(cx, &mut bytes))?;
                if let Some(decrypted) = tls.decrypt(bytes.filled(), lines.room())? {
                    return Poll::Ready(Ok(decrypted));
                }
            }
        })
        .await
    }

    /// Like [`read`](Self::read), with the error `WouldBlock` instead of a wait.
    pub(super) fn try_read(&mut self, lines: &mut Lines) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.tcp.try_read_buf(lines.room());
        };
        if let Some(decrypted) = tls.buffered(lines)? {
            return Ok(decrypted);
        }
        loop {
            let mut bytes = [0; RECORD];
            let length = self.tcp.try_read(&mut bytes)?;
            if let Some(decrypted) = tls.decrypt(&bytes[..length], lines.room())? {
                return Ok(decrypted);
            }
        }
    }

    /// Returns the socket, to discard what still arrives.
    pub(super) const fn socket(&mut self) -> &mut OwnedReadHalf {
        &mut self.tcp
    }
}

impl TlsReader {
    /// Returns what there is without the socket: bytes that arrived with the handshake, or 0 at the
    /// end of the connection.
    fn buffered(&mut self, lines: &mut Lines) -> io::Result<Option<usize>> {
        if self.has_ended {
            return Ok(Some(0));
        }
        if !std::mem::replace(&mut self.is_first, false) {
            return Ok(None);
        }
        let into = lines.room();
        let before = into.len();
        self.has_ended = move_decrypted(&mut self.session.lock(), into)?;
        Ok(self.read_result(into.len() - before))
    }

    /// Decrypts bytes of the socket, and appends what they contain. Returns how much that is, or
    /// `None` if a record is incomplete. 0 is the end of the connection.
    fn decrypt(&mut self, mut bytes: &[u8], into: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let mut session = self.session.lock();
        // A line that is cut short has no effect, so that an end without `close_notify` is an end
        // as any other.
        self.has_ended = bytes.is_empty();
        let before = into.len();
        while !bytes.is_empty() {
            if session.read_tls(&mut bytes)? == 0 {
                self.has_ended = true;
                break;
            }
            let state = session.process_new_packets();
            state.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            self.has_ended = move_decrypted(&mut session, into)?;
        }
        drop(session);
        Ok(self.read_result(into.len() - before))
    }

    /// Returns the result of a read that has added `bytes` bytes. `None`: wait for more.
    const fn read_result(&self, bytes: usize) -> Option<usize> {
        if bytes > 0 || self.has_ended {
            Some(bytes)
        } else {
            None
        }
    }
}

/// The direction to the client.
#[derive(Debug)]
pub(super) struct WriteHalf {
    tcp: OwnedWriteHalf,
    tls: Option<TlsSession>,
}

impl WriteHalf {
    /// Writes at least one byte to the socket, unless nothing is left, and removes from `bytes`
    /// what need not be passed again. Returns whether everything is written.
    pub(super) async fn write(&mut self, bytes: &mut &[u8]) -> io::Result<bool> {
        let Some(session) = &self.tls else {
            if bytes.is_empty() {
                return Ok(true);
            }
            match self.tcp.write(bytes).await? {
                0 => return Err(ErrorKind::WriteZero.into()),
                written => *bytes = &bytes[written..],
            }
            return Ok(bytes.is_empty());
        };
        std::future::poll_fn(|cx| {
            let mut session = session.lock();
            if !bytes.is_empty() {
                let encrypted = session.writer().write(bytes)?;
                *bytes = &bytes[encrypted..];
            }
            if !session.wants_write() {
                return Poll::Ready(Ok(bytes.is_empty()));
            }
            let mut socket = NonBlockingSocket {
                tcp: Pin::new(&mut self.tcp),
                cx,
            };
            match session.write_tls(&mut socket) {
                Ok(0) => Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Ok(_) => Poll::Ready(Ok(bytes.is_empty() && !session.wants_write())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            }
        })
        .await
    }

    /// Announces the end, if the connection is encrypted. It is sent by the next
    /// [`write`](Self::write).
    pub(super) fn announce_end(&self) {
        if let Some(session) = &self.tls {
            session.lock().send_close_notify();
        }
    }

    /// Ends this direction of the socket.
    pub(super) async fn shutdown(&mut self) {
        let _ = self.tcp.shutdown().await;
    }
}

/// A socket as the TLS library writes to it: without waiting.
struct NonBlockingSocket<'a, 'b> {
    tcp: Pin<&'a mut OwnedWriteHalf>,
    cx: &'a mut Context<'b>,
}

impl NonBlockingSocket<'_, '_> {
    fn without_waiting(poll: Poll<io::Result<usize>>) -> io::Result<usize> {
        match poll {
            Poll::Ready(written) => written,
            Poll::Pending => Err(ErrorKind::WouldBlock.into()),
        }
    }
}

impl io::Write for NonBlockingSocket<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::without_waiting(self.tcp.as_mut().poll_write(self.cx, bytes))
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Self::without_waiting(self.tcp.as_mut().poll_write_vectored(self.cx, slices))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
