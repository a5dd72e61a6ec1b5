//! A hyper client that connects by Happy Eyeballs.
//!
//! `cargo run --example connect -- [HOST:PORT]`; without an argument it connects to a server of its
//! own on `localhost`, which may be reachable by one family of addresses only.

use std::{env, process::ExitCode, sync::Arc, time::Duration};

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use race_connect::{FamilyMemory, HappyEyeballs, tokio::Connector};
use testkit::output::{complain, print};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run(env::args().nth(1)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("connect: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(host: Option<String>) -> Result<(), Error> {
    let host = match host {
        Some(host) => host,
        None => demo().await?,
    };
    let (name, port) = host
        .rsplit_once(':')
        .ok_or("give HOST:PORT, as in example.com:80")?;
    let settings = HappyEyeballs::new()
        .deadline(Duration::from_secs(10))
        .memory(Arc::new(FamilyMemory::new()));
    let connector = Connector::new(settings);

    let connected = connector.connect(name, port.parse()?).await?;
    print(&format!(
        "{} after {:.1?}\n",
        connected.address, connected.elapsed
    ))?;

    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    let answer = client.get(format!("http://{host}/").parse()?).await?;
    print(&format!("{}\n", answer.status()))?;
    Ok(())
}

/// Starts a server on IPv4 only.
async fn demo() -> Result<String, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    if stream.read_buf(&mut request).await? == 0 {
                        return Ok(());
                    }
                }
                stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await
            });
        }
    });
    Ok(format!("localhost:{port}"))
}
