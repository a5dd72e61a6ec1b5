//! The hook for a socket before it connects.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use race_connect::socket2::Socket;

use crate::host::{Hook, RUNTIMES, server};

fn hook(hook: impl Fn(&Socket, SocketAddr) -> io::Result<()> + Send + Sync + 'static) -> Hook {
    Arc::new(hook)
}

#[test]
#[cfg(target_os = "linux")]
fn server_sees_the_source_address_that_the_hook_binds() {
    for connect in RUNTIMES {
        let (listener, address) = server();
        let source: SocketAddr = "127.0.0.2:0".parse().unwrap();
        let made = connect(&[address], hook(move |it, _| it.bind(&source.into()))).unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip(), source.ip());
        assert_eq!(peer, made.local);
    }
}

#[test]
fn error_of_the_hook_fails_the_attempt_and_the_next_address_is_tried() {
    for connect in RUNTIMES {
        let ((_first_listener, first), (_second_listener, second)) = (server(), server());
        let calls = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&calls);
        let refuse_first = hook(move |_, address| {
            log.lock().unwrap().push(address);
            match address == first {
                true => Err(io::Error::other("no such device")),
                false => Ok(()),
            }
        });
        let made = connect(&[first, second], Arc::clone(&refuse_first)).unwrap();
        assert_eq!(made.address, second);
        assert_eq!(*calls.lock().unwrap(), [first, second]);

        let error = connect(&[first], refuse_first).unwrap_err();
        let text = format!("cannot connect to host.example:0: {first}: no such device");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn sockets_have_nodelay_unless_the_hook_clears_it() {
    for connect in RUNTIMES {
        let (_listener, address) = server();
        let made = connect(&[address], hook(|_, _| Ok(()))).unwrap();
        assert!(made.has_nodelay);
        let made = connect(&[address], hook(|it, _| it.set_tcp_nodelay(false))).unwrap();
        assert!(!made.has_nodelay);
    }
}

#[test]
fn refused_connection_is_a_failure_of_its_attempt() {
    for connect in RUNTIMES {
        // A port that is bound and does not listen refuses connections.
        let closed = crate::self_connection::bound(([127, 0, 0, 1], 0).into()).unwrap();
        let refused = closed.local_addr().unwrap().as_socket().unwrap();
        let (_listener, address) = server();
        let made = connect(&[refused, address], hook(|_, _| Ok(()))).unwrap();
        assert_eq!(made.address, address);
        let error = connect(&[refused], hook(|_, _| Ok(()))).unwrap_err();
        assert_eq!(error.failed()[0].1.kind(), io::ErrorKind::ConnectionRefused);
    }
}

#[test]
fn sockets_are_of_the_family_of_their_address() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
        return; // the machine has no IPv6
    };
    let address = listener.local_addr().unwrap();
    for connect in RUNTIMES {
        let made = connect(&[address], hook(|_, _| Ok(()))).unwrap();
        assert_eq!(made.local, listener.accept().unwrap().1);
    }
}
