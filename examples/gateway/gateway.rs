use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http_body_util::Empty;
use hyper::{
    Request, Response, Uri,
    body::{Bytes, Incoming},
    server::conn::http1,
};
use hyper_util::{
    client::legacy::{Client, ResponseFuture},
    rt::{TokioExecutor, TokioIo},
    service::TowerToHyperService,
};
use race::{Budget, Verdict, observe::Counters};
use race_connect::tokio::Connector;
use race_tower::{FnRules, HedgeError, Replicas, tokio::HedgeLayer};
use tokio::net::TcpListener;
use tower::{Service, ServiceBuilder};

type Error = hyper_util::client::legacy::Error;
type Answer = Result<Response<Incoming>, Error>;

/// One upstream server.
#[derive(Clone)]
struct Upstream {
    client: Client<Connector, Empty<Bytes>>,
    address: SocketAddr,
}

impl Service<Request<Empty<Bytes>>> for Upstream {
    type Response = Response<Incoming>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(())) // the client opens a connection if none is free
    }

    fn call(&mut self, mut request: Request<Empty<Bytes>>) -> ResponseFuture {
        let path = request.uri().path();
        let uri = format!("http://{}{path}", self.address).parse::<Uri>();
        *request.uri_mut() = uri.expect("an address and a path are a URI");
        self.client.request(request)
    }
}

/// Starts a gateway to upstream servers.
pub(crate) async fn start(
    upstreams: [SocketAddr; 2],
    counters: Arc<Counters>,
) -> io::Result<SocketAddr> {
    let client = Client::builder(TokioExecutor::new()).build(Connector::default());
    let upstreams = upstreams.map(|address| {
        let client = client.clone();
        Upstream { client, address }
    });
    let rules = FnRules::new(
        |request: &Request<Empty<Bytes>>| request.method().is_safe().then(|| request.clone()),
        |answer: &Answer| match answer {
            Ok(answer) if answer.status().is_server_error() => Verdict::Retryable,
            Ok(_) => Verdict::Accept,
            Err(_) => Verdict::Retryable,
        },
    );
    let hedged = HedgeLayer::new(Duration::from_millis(50))
        .budget(Arc::new(Budget::percent(10).reserve(10)))
        .deadline(Duration::from_secs(5))
        .rules(rules)
        .observer(counters)
        .over(Replicas::new(upstreams));
    let service = ServiceBuilder::new()
        .map_request(|request: Request<Incoming>| {
            let (parts, _) = request.into_parts();
            Request::from_parts(parts, Empty::new()) // requests have no bodies here
        })
        .map_err(HedgeError::boxed)
        .service(hedged);

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::spawn(connection);
        }
    });
    Ok(address)
}
