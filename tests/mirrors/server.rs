//! Mirrors on threads that end with the test.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{self, Receiver},
    thread,
};

use testkit::PATIENCE;

/// A complete response, which wins.
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbody";

/// Starts a mirror that passes the lines of each request to `serve`; returns its URL.
pub(crate) fn mirror(serve: impl Fn(&mut TcpStream, Vec<String>) + Send + 'static) -> String {
    let (listener, at) = listen();
    let url = format!("http://{at}/file?x=1");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.set_read_timeout(Some(PATIENCE));
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let request = lines.take_while(|line| !line.is_empty()).collect();
            serve(&mut stream, request);
        }
    });
    url
}

/// A mirror that sends `what` and closes the connection.
pub(crate) fn says(what: &'static str) -> String {
    mirror(|stream, _| {
        // The client may close the connection of a loser at any time.
        let _ = stream.write_all(what.as_bytes());
    })
}

/// A mirror that does not answer. The receiver gets "asked" and "closed".
pub(crate) fn stalls() -> (String, Receiver<&'static str>) {
    let (told, hear) = mpsc::channel();
    let url = mirror(move |stream, _| {
        let _ = told.send("asked");
        let mut more = [0];
        if let Ok(0) | Err(_) = stream.read(&mut more) {
            let _ = told.send("closed");
        }
    });
    (url, hear)
}

/// A mirror that sends `head`, then `what` until the connection is closed.
pub(crate) fn repeats(head: &'static str, what: &'static str) -> String {
    let many = what.repeat(1_000);
    mirror(move |stream, _| {
        let mut said = stream.write_all(head.as_bytes());
        while said.is_ok() {
            said = stream.write_all(many.as_bytes());
        }
    })
}

/// A listener at an https URL that does not speak TLS.
pub(crate) fn says_no_hello() -> String {
    let (listener, at) = listen();
    let url = format!("https://{at}/");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // Reads the client's hello, answers, then reads until the client closes.
            let mut hello = [0; 16_384];
            let _ = stream.read(&mut hello);
            let _ = stream.write_all(b"this is no tls");
            while stream.read(&mut hello).is_ok_and(|length| length > 0) {}
        }
    });
    url
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let at = listener.local_addr().expect("it is bound");
    (listener, at)
}
