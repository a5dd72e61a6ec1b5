//! A socket that is bound to the port that it connects to connects to itself: TCP's simultaneous
//! open. A client without a bound port meets it by chance.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::Arc,
};

use race_connect::{
    refuse_self_connection,
    socket2::{Domain, Socket, Type},
};

use crate::host::{Hook, RUNTIMES, block_on_tokio, server};

/// Binds a socket without `SO_REUSEADDR`, so that it fails while the port is in `TIME_WAIT`.
pub(crate) fn bound(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Whether a server could listen on the port.
fn is_free(address: SocketAddr) -> bool {
    bound(address).and_then(|it| it.listen(1)).is_ok()
}

fn unused_address() -> SocketAddr {
    let socket = bound((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    socket.local_addr().unwrap().as_socket().unwrap()
}

fn connected_to_itself() -> Socket {
    let socket = bound((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    socket.connect(&address).unwrap();
    assert_eq!(socket.peer_addr().unwrap(), address);
    socket
}

#[test]
fn check_refuses_a_connection_to_itself_and_frees_its_port() {
    let stream = TcpStream::from(connected_to_itself());
    let address = stream.local_addr().unwrap();
    let error = refuse_self_connection(&stream).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    let text = format!("nothing listens on {address}: the socket connected to itself");
    assert_eq!(error.to_string(), text);
    drop(stream);
    assert!(is_free(address));
}

#[test]
fn check_takes_streams_of_each_runtime() {
    let stream = TcpStream::from(connected_to_itself());
    stream.set_nonblocking(true).unwrap();
    let twin = stream.try_clone().unwrap();
    block_on_tokio(async {
        let stream = tokio::net::TcpStream::from_std(twin).unwrap();
        refuse_self_connection(&stream).unwrap_err();
    });
    let stream: smol::net::TcpStream = smol::Async::new(stream).unwrap().into();
    refuse_self_connection(&stream).unwrap_err();
}

#[test]
fn ordinary_connection_passes_the_check_on_both_sides() {
    let (listener, address) = server();
    let client = TcpStream::connect(address).unwrap();
    let (server, _) = listener.accept().unwrap();
    for stream in [client, server] {
        refuse_self_connection(&stream).unwrap();
        assert_eq!(stream.take_error().unwrap().map(|it| it.kind()), None);
    }
}

#[test]
#[cfg(unix)]
fn socket_without_a_port_passes_the_check() {
    let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    refuse_self_connection(&one).unwrap();
}

/// Binds the socket of an attempt to the address that it connects to.
fn bind_to_itself(itself: SocketAddr) -> Hook {
    Arc::new(move |socket, address| match address == itself {
        true => socket.bind(&itself.into()),
        false => Ok(()),
    })
}

#[test]
fn connectors_refuse_a_connection_to_itself() {
    for connect in RUNTIMES {
        let itself = unused_address();
        let error = connect(&[itself], bind_to_itself(itself)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("the socket connected to itself"), "{text}");
        assert!(is_free(itself));
    }
}

#[test]
fn race_goes_on_after_a_connection_to_itself() {
    for connect in RUNTIMES {
        let itself = unused_address();
        let (_listener, address) = server();
        let made = connect(&[itself, address], bind_to_itself(itself)).unwrap();
        assert_eq!(made.address, address);
        assert!(is_free(itself));
    }
}
