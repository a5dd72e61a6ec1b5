//! HTTPS: the HTTP listener of a server with TLS.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::Path,
    process::{Command, Stdio},
};

use rustls::StreamOwned;
use serde_json::json;
use testkit::{
    http::{self, Answer},
    process::run,
    server::alone,
};

use crate::{
    peer::{Options, tcp},
    server::{PROGRAM, Server, files},
};

/// The fields of a server whose HTTP listener other machines reach.
fn reachable() -> serde_json::Value {
    json!({"http_addr": "0.0.0.0:0", "http_hosts": ["127.0.0.1"]})
}

/// The address of that listener from this machine.
fn address(server: &Server) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, server.http().port()).into()
}

/// Asks for a path over TLS.
fn get(options: &Options<'_>, address: SocketAddr, path: &str) -> std::io::Result<Answer> {
    get_with(options, address, path, "")
}

/// Asks for a path over TLS with more headers, each with its `\r\n`.
pub(crate) fn get_with(
    options: &Options<'_>,
    address: SocketAddr,
    path: &str,
    headers: &str,
) -> std::io::Result<Answer> {
    let mut stream = StreamOwned::new(options.session(), tcp(address));
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{headers}");
    let request = format!("{head}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    // The end is announced: a connection that is cut is an error here.
    stream.read_to_string(&mut answer)?;
    Ok(http::parse(&answer).unwrap())
}

#[test]
fn a_listener_that_other_machines_reach_is_encrypted() {
    let server = Server::start_with(reachable());
    let options = Options::of(&server);
    for protocols in [&[][..], &["http/1.1"], &["h2", "http/1.1"]] {
        let options = Options {
            protocols,
            ..Options::of(&server)
        };
        let answer = get(&options, address(&server), "/readyz").unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (200, "ready\n"));
    }
    let metrics = get(&options, address(&server), "/metrics").unwrap();
    assert_eq!(
        metrics.status, 200,
        "it comes from this machine: {metrics:?}"
    );
    let plain = http::get(address(&server), "/readyz");
    assert_eq!(plain.status, 400);
    assert!(plain.body.contains("ask for https://"), "{plain:?}");
    let line = server.logs("the client does not speak TLS");
    assert!(line.contains("WARN"), "{line}");
    assert!(line.contains(r#"listener="http""#), "{line}");
    let metrics = get(&options, address(&server), "/metrics").unwrap();
    for sample in [
        "\nhyper_delay_failed_handshakes_total 1\n",
        // The first second of the year 4000.
        "\nhyper_delay_tls_expiry_timestamp_seconds 64060588800\n",
    ] {
        assert!(metrics.body.contains(sample), "{}", metrics.body);
    }
}

#[test]
fn the_reason_of_a_failed_handshake_arrives() {
    let server = Server::start_with(reachable());
    let options = Options {
        protocols: &["h2"],
        ..Options::of(&server)
    };
    for _ in 0..20 {
        let error = get(&options, address(&server), "/readyz").unwrap_err();
        let error = error.to_string();
        assert!(error.contains("NoApplicationProtocol"), "{error}");
    }
}

#[test]
fn a_listener_on_loopback_is_plain() {
    let server = Server::start_with(json!({"http_addr": "127.0.0.1:0"}));
    assert_eq!(http::get(server.http(), "/readyz").status, 200);
    assert!(get(&Options::of(&server), server.http(), "/readyz").is_err());
}

#[test]
fn a_new_certificate_is_shown_to_the_next_connection() {
    let server = Server::start_with(reachable());
    let certificate = || {
        let mut stream = StreamOwned::new(Options::of(&server).session(), tcp(address(&server)));
        stream.flush().unwrap();
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).unwrap();
        }
        let shown = stream.conn.peer_certificates().unwrap();
        shown[0].clone().into_owned()
    };
    assert_eq!(certificate(), server.identity.der);
    let renewed = server.authority.issue();
    server.directory.write_identity(&renewed);
    server.signal("HUP");
    server.logs("the configuration was reloaded");
    assert_eq!(certificate(), renewed.der);
}

#[test]
fn clients_without_a_certificate_are_refused_if_every_client_needs_one() {
    let server = Server::start_with({
        let mut config = reachable();
        config["tls"] = files();
        config["tls"]["client_ca"] = json!("ca.pem");
        config
    });
    let stranger = get(&Options::of(&server), address(&server), "/healthz");
    assert!(stranger.is_err(), "{stranger:?}");
    let known = server.authority.issue();
    let options = Options::of(&server).showing(&known);
    let answer = get(&options, address(&server), "/healthz").unwrap();
    assert_eq!(answer.status, 200);
}

#[test]
fn connections_beside_a_stuck_handshake_are_answered() {
    let server = Server::start_with(reachable());
    let _silent = tcp(address(&server));
    let mut begun = tcp(address(&server));
    begun.write_all(&[22]).unwrap();
    let options = Options::of(&server);
    assert_eq!(
        get(&options, address(&server), "/readyz").unwrap().status,
        200
    );
}

/// An address of this machine that is not the loopback's.
fn outer() -> Option<SocketAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?;
    (!address.ip().is_loopback() && !address.ip().is_unspecified()).then_some(address)
}

#[test]
fn the_metrics_are_for_other_machines_with_a_token_of_every_route() {
    let Some(mut outer) = outer() else {
        println!("NOTE: nothing is proved here: this machine has only the loopback");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tokens.json");
    let token = |right: &str, route: &str| new_token(&file, right, route);
    let (all, some, other) = (
        token("admin", "*"),
        token("admin", "a*"),
        token("consume", "*"),
    );
    let server = Server::start_with(json!({
        "tokens": file,
        "http_addr": "0.0.0.0:0",
        "http_hosts": [outer.ip().to_string()],
        "allowed_hosts": ["0.0.0.0/0"],
    }));
    outer.set_port(server.http().port());
    let options = Options::of(&server);
    let status = |token: Option<&str>| {
        let header = token.map(|token| format!("authorization: Bearer {token}\r\n"));
        let answer = get_with(&options, outer, "/metrics", &header.unwrap_or_default());
        answer.unwrap().status
    };
    assert_eq!(status(None), 401);
    assert_eq!(status(Some(&all)), 200);
    assert_eq!(status(Some(&some)), 403);
    assert_eq!(status(Some(&other)), 403);
}

fn new_token(file: &Path, right: &str, route: &str) -> String {
    let mut command = Command::new(PROGRAM);
    command.args([
        "token", "new", "--name", right, "--right", right, "--route", route,
    ]);
    command.arg("--file").arg(file);
    alone(&mut command, file.parent().unwrap());
    let made = run(command.stdout(Stdio::piped()).stderr(Stdio::piped()), b"").done();
    made.trim().to_owned()
}
