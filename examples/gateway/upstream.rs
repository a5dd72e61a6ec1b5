use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, time::sleep};

/// One request in this many is slow.
const SLOW: usize = 20;

/// Starts a server. `slow` is the first slow request.
pub(crate) async fn start(name: &'static str, slow: usize) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let requests = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let requests = requests.clone();
            let answer = service_fn(move |request: Request<Incoming>| {
                let is_slow = requests.fetch_add(1, Ordering::Relaxed) % SLOW == slow;
                async move {
                    sleep(Duration::from_millis(if is_slow { 600 } else { 2 })).await;
                    let body = Bytes::from(format!("{name} {}", request.uri().path()));
                    Ok::<_, Infallible>(Response::new(Full::new(body)))
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    });
    Ok(address)
}
