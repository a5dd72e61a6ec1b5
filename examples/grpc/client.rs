//! The client: two channels, hedged.

use std::{net::SocketAddr, time::Duration};

use futures::Stream;
use http::{HeaderValue, Request, Response, uri::PathAndQuery};
use race_tower::{
    HedgeCounters, HedgeError, Replicas,
    http::{HttpRules, ReplayBody, ReplayLayer, TimeLeft},
    tokio::HedgeLayer,
};
use tonic::{
    Status, Streaming,
    body::Body,
    client::Grpc,
    transport::{self, Channel, Endpoint},
};
use tonic_prost::ProstCodec;
use tower::{ServiceBuilder, ServiceExt as _, util::BoxCloneService};

use crate::{
    Error,
    messages::{Item, Price},
};

/// The service of tonic's clients, also of those that are generated.
type Hedged = BoxCloneService<Request<Body>, Response<Body>, HedgeError<transport::Error>>;

#[derive(Clone)]
pub(crate) struct Client {
    grpc: Grpc<Hedged>,
}

impl Client {
    /// Creates a client that sends a call to another replica if it is not answered after 50 ms.
    pub(crate) fn new(
        replicas: impl IntoIterator<Item = SocketAddr>,
        counters: HedgeCounters,
    ) -> Result<Self, Error> {
        let connect = |address| {
            let channel = Endpoint::try_from(format!("http://{address}"))?.connect_lazy();
            Ok::<_, Error>(attempts(channel))
        };
        let channels = replicas.into_iter().map(connect);
        let channels = Replicas::new(channels.collect::<Result<Vec<_>, _>>()?);
        // Both methods only read. That of the stream is never hedged while it still sends requests.
        let rules = HttpRules::new().grpc_methods(["/shop.Prices/*"]);
        let hedged = HedgeLayer::new(Duration::from_millis(50))
            .deadline(Duration::from_secs(5))
            .rules(rules)
            .observer(counters)
            .over(channels);
        let service = ServiceBuilder::new()
            .layer(ReplayLayer::new())
            .service(hedged);
        let grpc = Grpc::new(service.boxed_clone());
        Ok(Self { grpc })
    }

    pub(crate) async fn price(&mut self, name: &str) -> Result<Price, Error> {
        self.grpc.ready().await?;
        let (name, path) = (
            name.to_owned(),
            PathAndQuery::from_static("/shop.Prices/Price"),
        );
        let item = tonic::Request::new(Item { name });
        let codec = ProstCodec::default();
        Ok(self.grpc.unary(item, path, codec).await?.into_inner())
    }

    pub(crate) async fn prices(
        &mut self,
        items: impl Stream<Item = Item> + Send + 'static,
    ) -> Result<Streaming<Price>, Error> {
        self.grpc.ready().await?;
        let path = PathAndQuery::from_static("/shop.Prices/Prices");
        let items = tonic::Request::new(items);
        let answers: Result<_, Status> = self
            .grpc
            .streaming(items, path, ProstCodec::default())
            .await;
        Ok(answers?.into_inner())
    }
}

/// The service of the attempts: it sends the time that each of them has left.
fn attempts(
    channel: Channel,
) -> BoxCloneService<Request<ReplayBody<Body>>, Response<Body>, transport::Error> {
    let prepare = |mut request: Request<ReplayBody<Body>>| {
        if let Some(&TimeLeft(left)) = request.extensions().get() {
            let headers = request.headers_mut();
            headers.insert("grpc-timeout", grpc_timeout(left));
        }
        request.map(Body::new)
    };
    ServiceBuilder::new()
        .map_request(prepare)
        .service(channel)
        .boxed_clone()
}

/// Returns a timeout of at most eight digits, as gRPC requires.
fn grpc_timeout(left: Duration) -> HeaderValue {
    let value = match (left.as_micros(), left.as_millis()) {
        (micros @ 0..=99_999_999, _) => format!("{micros}u"),
        (_, millis @ 0..=99_999_999) => format!("{millis}m"),
        _ => format!("{}S", left.as_secs().min(99_999_999)),
    };
    HeaderValue::try_from(value).expect("digits and a letter are valid")
}
