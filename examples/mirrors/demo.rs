//! Four mirrors on loopback for the demo: they stall, refuse, drip and serve.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use crate::mirror::Mirror;

pub(crate) const WHAT: &str = "\
no URL given, using four mirrors on loopback: #0 stalls, #1 is overloaded, #2 is slow, #3 is good

";

/// Starts the mirrors, each on a thread that ends with the process.
pub(crate) fn start() -> io::Result<Vec<Mirror>> {
    let serve: [fn(&mut TcpStream) -> io::Result<()>; 4] = [stall, refuse, drip, answer];
    serve
        .into_iter()
        .map(|serve| {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            let url = format!("http://{}/file", listener.local_addr()?);
            thread::spawn(move || {
                for mut stream in listener.incoming().flatten() {
                    // A cancelled attempt closes its connection at any point.
                    let _ = read_request(&stream).and_then(|()| serve(&mut stream));
                }
            });
            url.parse().map_err(io::Error::other)
        })
        .collect()
}

fn read_request(stream: &TcpStream) -> io::Result<()> {
    for line in BufReader::new(stream).lines() {
        if line?.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Waits until the client closes the connection.
fn stall(stream: &mut TcpStream) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

fn refuse(stream: &mut TcpStream) -> io::Result<()> {
    thread::sleep(Duration::from_millis(20));
    stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n")
}

/// Sends 160 bytes per second.
fn drip(stream: &mut TcpStream) -> io::Result<()> {
    head(stream)?;
    for few in body().as_bytes().chunks(16) {
        thread::sleep(Duration::from_millis(100));
        stream.write_all(few)?;
    }
    Ok(())
}

fn answer(stream: &mut TcpStream) -> io::Result<()> {
    thread::sleep(Duration::from_millis(60));
    head(stream)?;
    stream.write_all(body().as_bytes())
}

fn head(stream: &mut TcpStream) -> io::Result<()> {
    let length = body().len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n"
    )
}

fn body() -> String {
    "every mirror has this\n".repeat(48)
}
