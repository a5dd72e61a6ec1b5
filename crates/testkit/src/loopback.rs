//! Addresses of this machine that no other test uses.

use std::{
    io::ErrorKind,
    mem,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    ops::Range,
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// The ports of these addresses, the first of which is usually free. They are below those that the
/// system chooses by itself: a socket that is bound to port 0 of all addresses gets none of them.
const PORTS: Range<u16> = 20_000..21_000;

/// The number of addresses that this process has tried.
static TRIED: AtomicU32 = AtomicU32::new(0);

/// Returns an address on which nothing listens. While this process runs, no other call returns it,
/// in this process or in another one.
///
/// The address stays free until the test uses it, and between two uses. The port of a dropped
/// listener does not: a test that binds port 0 can get it, and so can a connection, which needs a
/// port of 127.0.0.1.
///
/// On Linux the IP address is 127.x.y.z, and never 127.0.0.z: all of these are this machine. Other
/// systems have only 127.0.0.1. There, another process can take the port.
///
/// # Panics
///
/// If no address is free.
#[must_use]
pub fn loopback() -> SocketAddr {
    let mut candidates = PORTS.map(candidate);
    let free = candidates.find(|address| claim(*address));
    free.expect("an address is free")
}

/// Returns an address that is likely to be free.
fn candidate(port: u16) -> SocketAddr {
    if !cfg!(target_os = "linux") {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        return listener.local_addr().expect("it is bound");
    }
    let tried = TRIED.fetch_add(1, Ordering::Relaxed);
    // Most processes begin at different numbers. If two try the same one, the first claims it.
    let number = process::id().wrapping_mul(64).wrapping_add(tried);
    let [_, x, y, z] = number.to_be_bytes();
    let ip = Ipv4Addr::new(127, 1 + x % 254, y, 1 + z % 254);
    (ip, port).into()
}

/// Takes an address for this process. Returns `false` if it is in use.
fn claim(address: SocketAddr) -> bool {
    // UDP and TCP have separate ports, so the claim leaves the address free for the test.
    let Ok(claim) = UdpSocket::bind(address) else {
        return false;
    };
    let is_free = !cfg!(target_os = "linux") || refuses(address);
    if is_free {
        // The claim lasts until the process ends.
        mem::forget(claim);
    }
    is_free
}

/// Returns whether nothing listens on an address. A server that listens on all addresses of the
/// machine listens on this one, too.
fn refuses(address: SocketAddr) -> bool {
    let connected = TcpStream::connect_timeout(&address, Duration::from_secs(1));
    connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, thread};

    use super::*;

    #[test]
    fn each_call_returns_another_address() {
        let threads = [(); 4].map(|()| thread::spawn(|| [(); 50].map(|()| loopback())));
        let addresses = threads.map(|thread| thread.join().expect("it does not panic"));
        let all: BTreeSet<_> = addresses.as_flattened().iter().collect();
        assert_eq!(all.len(), 200);
    }

    #[test]
    fn address_is_free_until_the_test_uses_it() {
        let address = loopback();
        assert!(!claim(address));
        if cfg!(target_os = "linux") {
            assert!(refuses(address));
            assert_ne!(address.ip(), Ipv4Addr::LOCALHOST);
        }
        let listener = TcpListener::bind(address).expect("it is free");
        assert!(TcpStream::connect(address).is_ok());
        drop(listener);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn address_of_a_server_that_listens_everywhere_is_not_free() {
        let everywhere = TcpListener::bind("0.0.0.0:0").expect("a port is free");
        let port = everywhere.local_addr().expect("it is bound").port();
        assert!(!claim((Ipv4Addr::new(127, 9, 9, 9), port).into()));
    }
}
