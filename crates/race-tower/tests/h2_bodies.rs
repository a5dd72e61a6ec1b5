//! Bodies that are sent again on a real HTTP/2 connection.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures::{SinkExt as _, StreamExt as _, channel::mpsc};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::BoxBody};
use hyper::{
    HeaderMap, Request, Response,
    body::{Bytes, Frame, Incoming},
    client::conn::http2::{self, SendRequest},
    header::HeaderValue,
    server,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use race_tower::{
    http::{HttpRules, ReplayBody, ReplayLayer},
    tokio::HedgeLayer,
};
use tokio::net::{TcpListener, TcpStream};
use tower::{Service, ServiceBuilder, ServiceExt as _};

type Body = BoxBody<Bytes, Infallible>;
type Sent = ReplayBody<Body>;

/// An HTTP/2 connection as a service.
#[derive(Clone)]
struct Connection(SendRequest<Sent>);

impl Service<Request<Sent>> for Connection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Sent>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// What the server does with the first request. It answers the others with their bodies and the
/// trailer `name`.
#[derive(Clone, Copy)]
enum First {
    /// Answers 503 when the headers have arrived, and does not read the body.
    Refuses,
    /// Reads the body and does not answer.
    Hangs,
}

async fn answer(
    request: Request<Incoming>,
    first: Option<First>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let unavailable = || Response::builder().status(503).body(Full::default());
    if let Some(First::Refuses) = first {
        return Ok(unavailable().unwrap());
    }
    let body = request.into_body().collect().await?;
    if let Some(First::Hangs) = first {
        std::future::pending::<()>().await;
    }
    let name = body.trailers().and_then(|trailers| trailers.get("name"));
    let name = name.cloned().unwrap_or(HeaderValue::from_static("none"));
    let answer = Response::builder().header("name", name);
    Ok(answer.body(Full::new(body.to_bytes())).unwrap())
}

/// Starts a server of one connection. Returns a client of it, and the number of requests.
async fn connect(first: First) -> (Connection, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service_fn(move |request| {
            let is_first = counted.fetch_add(1, Ordering::Relaxed) == 0;
            answer(request, is_first.then_some(first))
        });
        let connection = server::conn::http2::Builder::new(TokioExecutor::new());
        let _ended = connection
            .serve_connection(TokioIo::new(stream), service)
            .await;
    });
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    (Connection(sender), requests)
}

/// A body whose frames come from a channel.
fn channel() -> (mpsc::Sender<Frame<Bytes>>, Body) {
    let (send, frames) = mpsc::channel(1);
    let body = StreamBody::new(frames.map(Ok::<_, Infallible>));
    (send, BoxBody::new(body))
}

fn data(text: &'static str) -> Frame<Bytes> {
    Frame::data(Bytes::from_static(text.as_bytes()))
}

fn trailers() -> Frame<Bytes> {
    let name = HeaderValue::from_static("value");
    Frame::trailers(HeaderMap::from_iter([("name".parse().unwrap(), name)]))
}

/// Sends a POST with this body, and returns the answer: its header `name`, and its body.
async fn post(connection: Connection, body: Body) -> (String, Bytes) {
    let hedge =
        HedgeLayer::new(Duration::from_millis(20)).rules(HttpRules::new().idempotency_keys());
    let client = ServiceBuilder::new()
        .layer(ReplayLayer::new())
        .layer(hedge)
        .service(connection);
    let request = Request::post("http://localhost/").header("Idempotency-Key", "1");
    let answer = client.oneshot(request.body(body).unwrap()).await.unwrap();
    let name = answer.headers()["name"].to_str().unwrap().to_owned();
    let body = answer.into_body().collect().await.unwrap();
    (name, body.to_bytes())
}

#[tokio::test]
async fn hedge_sends_the_body_and_its_trailers_again() {
    let (connection, requests) = connect(First::Hangs).await;
    let (mut send, body) = channel();
    let frames = tokio::spawn(async move {
        for frame in [data("one, "), data("two"), trailers()] {
            send.send(frame).await.unwrap();
        }
    });
    let (name, body) = post(connection, body).await;
    frames.await.unwrap();
    assert_eq!((&*name, &*body), ("value", &b"one, two"[..]));
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn next_attempt_goes_on_with_the_body_of_one_that_was_refused_early() {
    let (connection, requests) = connect(First::Refuses).await;
    let (mut send, body) = channel();
    let counted = requests.clone();
    let frames = tokio::spawn(async move {
        send.send(data("one, ")).await.unwrap();
        while counted.load(Ordering::Relaxed) < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for frame in [data("two"), trailers()] {
            send.send(frame).await.unwrap();
        }
    });
    let (name, body) = post(connection, body).await;
    frames.await.unwrap();
    assert_eq!((&*name, &*body), ("value", &b"one, two"[..]));
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}
