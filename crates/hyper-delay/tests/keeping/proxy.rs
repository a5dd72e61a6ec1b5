//! A connection to a server that stops in the middle of what the server sends.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
};

use testkit::loopback;

/// Starts a proxy that passes on `most` bytes of the server, and then keeps the connection open.
/// Returns its address.
pub(crate) fn stalls_after(server: SocketAddr, most: u64) -> SocketAddr {
    start(server, most, true)
}

/// Starts a proxy that passes on `most` bytes of the server, and then closes the connection.
/// Returns its address.
pub(crate) fn closes_after(server: SocketAddr, most: u64) -> SocketAddr {
    start(server, most, false)
}

/// Starts a proxy that passes on this many whole lines of the server, then closes the connection and
/// accepts no other, as a server that has ended. Returns its address.
pub(crate) fn ends_after_lines(server: SocketAddr, lines: usize) -> SocketAddr {
    let listener = TcpListener::bind(loopback()).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        drop(listener);
        let mut server = TcpStream::connect(server).unwrap();
        let mut requests = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || io::copy(&mut requests.0, &mut requests.1));
        for line in BufReader::new(&mut server).split(b'\n').take(lines) {
            let line = [&line.unwrap()[..], b"\n"].concat();
            client.write_all(&line).unwrap();
        }
        let _ = client.shutdown(Shutdown::Write);
    });
    address
}

fn start(server: SocketAddr, most: u64, stalls: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(server).unwrap();
        let mut requests = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let up = thread::spawn(move || io::copy(&mut requests.0, &mut requests.1));
        let mut left = most;
        let mut bytes = [0; 4096];
        while left > 0 {
            let Ok(read @ 1..) = server.read(&mut bytes) else {
                return;
            };
            let passed = read.min(usize::try_from(left).unwrap());
            if client.write_all(&bytes[..passed]).is_err() {
                return;
            }
            left -= passed as u64;
        }
        if stalls {
            let _ = up.join();
            return;
        }
        for stream in [client, server] {
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
    address
}
