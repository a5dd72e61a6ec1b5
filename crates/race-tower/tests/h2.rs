//! The loser of a hedge on a real HTTP/2 connection: the server learns of it at once.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use http_body_util::{BodyExt as _, Empty, Full};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    client::conn::http2::{self, SendRequest},
    server,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use race_tower::{FnRules, race_core::Verdict, tokio::HedgeLayer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};
use tower::{Service, ServiceBuilder, ServiceExt as _};

type Answer = Result<Response<Incoming>, hyper::Error>;

/// An HTTP/2 connection as a service.
#[derive(Clone)]
struct Connection(SendRequest<Empty<Bytes>>);

impl Service<Request<Empty<Bytes>>> for Connection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Empty<Bytes>>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// Reports when the future of a handler is dropped.
struct Handler(mpsc::UnboundedSender<Instant>);

impl Drop for Handler {
    fn drop(&mut self) {
        let _ = self.0.send(Instant::now());
    }
}

/// Serves one connection, whose first request is never answered.
async fn serve(listener: TcpListener, dropped: mpsc::UnboundedSender<Instant>) {
    let (stream, _) = listener.accept().await.unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let answer = service_fn(move |_| {
        let is_first = requests.fetch_add(1, Ordering::Relaxed) == 0;
        let dropped = dropped.clone();
        async move {
            if is_first {
                let _handler = Handler(dropped);
                std::future::pending::<()>().await;
            }
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("hello"))))
        }
    });
    let connection = server::conn::http2::Builder::new(TokioExecutor::new());
    let _ended = connection
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

#[tokio::test]
async fn handler_of_a_loser_is_dropped_on_a_connection_that_lives_on() {
    let patience = Duration::from_secs(60);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (send, mut dropped) = mpsc::unbounded_channel();
    tokio::spawn(serve(listener, send));

    let stream = TcpStream::connect(address).await.unwrap();
    let (requests, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);

    let rules = FnRules::new(
        |request: &Request<Empty<Bytes>>| request.method().is_safe().then(|| request.clone()),
        |answer: &Answer| match answer {
            Ok(response) if response.status().is_server_error() => Verdict::Retryable,
            Ok(_) => Verdict::Accept,
            Err(_) => Verdict::Retryable,
        },
    );
    let mut service = ServiceBuilder::new()
        .layer(HedgeLayer::new(Duration::from_millis(20)).rules(rules))
        .service(Connection(requests));
    let request = || {
        Request::get(format!("http://{address}/"))
            .body(Empty::new())
            .unwrap()
    };
    let answer = service
        .ready()
        .await
        .unwrap()
        .call(request())
        .await
        .unwrap();
    let won = Instant::now();
    let at = timeout(patience, dropped.recv()).await.unwrap().unwrap();
    println!(
        "dropped {:?} after the win",
        at.saturating_duration_since(won)
    );

    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "hello");
    let again = service.ready().await.unwrap().call(request()).await;
    assert!(
        again.unwrap().status().is_success(),
        "the connection is in use"
    );
}
