use std::{io, time::Duration};

use socket2::SockRef;

/// Returns an error if a TCP stream is connected to itself: its local address is its peer's.
///
/// A client that connects to a local port without a listener may get that very port as its own. TCP
/// then connects the socket to itself ("simultaneous open"), and the client reads what it writes.
/// The connectors refuse such a connection. A [`Dial`](crate::Dial) of your own should do the same.
///
/// The stream is one of `std`, `tokio`, `smol`, or of whatever else `SockRef` takes. A socket that
/// is not an IP socket passes.
///
/// ```
/// use std::{io, net::SocketAddr};
/// use race_connect::refuse_self_connection;
///
/// async fn dial(address: SocketAddr) -> io::Result<tokio::net::TcpStream> {
///     let stream = tokio::net::TcpStream::connect(address).await?;
///     refuse_self_connection(&stream)?;
///     Ok(stream)
/// }
/// ```
///
/// # Errors
///
/// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if the stream is connected to itself.
/// Its linger time is then zero: its port is free as soon as the caller drops the stream, and does
/// not stay in `TIME_WAIT`. Also returns errors of the system, such as
/// [`NotConnected`](io::ErrorKind::NotConnected) if the peer has already reset the connection.
pub fn refuse_self_connection<'s, S>(stream: &'s S) -> io::Result<()>
where
    SockRef<'s>: From<&'s S>,
{
    let socket = SockRef::from(stream);
    let local = socket.local_addr()?.as_socket();
    let peer = socket.peer_addr()?.as_socket();
    let (Some(local), Some(peer)) = (local, peer) else {
        return Ok(());
    };
    // The flow label of IPv6 is no part of the address.
    if (local.ip(), local.port()) != (peer.ip(), peer.port()) {
        return Ok(());
    }
    socket.set_linger(Some(Duration::ZERO))?;
    Err(io::Error::new(
        io::ErrorKind::ConnectionRefused,
        format!("nothing listens on {peer}: the socket connected to itself"),
    ))
}
