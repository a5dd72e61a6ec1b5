//! Races QUIC (quinn) and TLS (tokio-rustls) to the endpoints that HTTPS records name.
//!
//! `cargo run -p race-connect --example quic` connects to two sites of its own on loopback. The
//! application is in `client.rs`; `demo.rs` and `servers.rs` have the sites and their resolver. In
//! an application, a `hickory_resolver::TokioResolver` takes the place of that resolver.

mod client;
mod demo;
mod servers;

use std::{process::ExitCode, time::Duration};

use client::{Client, Connection};
use race_connect::{HappyEyeballs, v3::Origin};
use servers::Error;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quic: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Error> {
    let (resolver, tls) = demo::start().await?;
    // The default delay is 250 ms. A busy machine may need longer for a handshake with itself.
    let settings = HappyEyeballs::new()
        .attempt_delay(Duration::from_secs(1))
        .deadline(Duration::from_secs(20));
    let client = Client::new(settings, resolver, tls)?;

    expect(&client, demo::OPEN, "h3").await?;
    println!("now UDP gets no answer: TCP connects after the delay, and comes first from then on");
    expect(&client, demo::SILENT, "h2").await?;
    expect(&client, demo::SILENT, "h2").await
}

/// Connects to a site. It is an error if the protocol is not this one.
async fn expect(client: &Client<demo::Resolver>, site: &str, protocol: &str) -> Result<(), Error> {
    let connected = client.connect(&Origin::https(site, 443)).await?;
    let negotiated = protocol_of(&connected.connection);
    println!(
        "{site}: {:?} to {}, {negotiated}, after {:.1?}",
        connected.transport, connected.address, connected.elapsed,
    );
    match negotiated == protocol {
        true => Ok(()),
        false => Err(format!("{site}: {negotiated} instead of {protocol}").into()),
    }
}

fn protocol_of(connection: &Connection) -> String {
    let protocol = match connection {
        Connection::Quic(quic) => quic
            .handshake_data()
            .and_then(|data| data.downcast::<quinn::crypto::rustls::HandshakeData>().ok())
            .and_then(|data| data.protocol),
        Connection::Tls(stream) => stream.get_ref().1.alpn_protocol().map(Vec::from),
    };
    String::from_utf8_lossy(&protocol.unwrap_or_default()).into_owned()
}
