//! A replica of the service `shop.Prices`, which would be generated from its description.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::{Stream, StreamExt as _};
use tokio::net::TcpListener;
use tonic::{
    Request, Response, Status, Streaming,
    body::Body,
    server::{Grpc, NamedService},
    transport::{Server, server::TcpIncoming},
};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

use crate::{
    Error,
    messages::{Item, Price},
};

/// How a replica answers.
#[derive(Clone)]
pub(crate) struct Replica {
    pub(crate) name: &'static str,
    pub(crate) takes: Duration,
    pub(crate) is_available: bool,
}

impl Replica {
    /// Starts the replica, which ends with the program.
    pub(crate) async fn start(self) -> Result<SocketAddr, Error> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let server = Server::builder().add_service(self);
        tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        Ok(address)
    }

    async fn price(self, request: Request<Item>) -> Result<Response<Price>, Status> {
        if !self.is_available {
            return Err(Status::unavailable("it restarts"));
        }
        let price = self.answer(request.get_ref(), &timeout(&request));
        tokio::time::sleep(self.takes).await;
        Ok(Response::new(price))
    }

    /// Answers each item as it comes.
    async fn prices(self, request: Request<Streaming<Item>>) -> Result<Response<Prices>, Status> {
        let timeout = timeout(&request);
        let prices = request.into_inner();
        let prices = prices.map(move |item| item.map(|item| self.answer(&item, &timeout)));
        Ok(Response::new(prices.boxed()))
    }

    fn answer(&self, item: &Item, timeout: &str) -> Price {
        Price {
            cents: item.name.len() as u64 * 100,
            from: self.name.to_owned(),
            timeout: timeout.to_owned(),
        }
    }
}

/// Returns the time that the client still waits, as it says.
fn timeout<T>(request: &Request<T>) -> String {
    let timeout = request.metadata().get("grpc-timeout");
    let timeout = timeout.and_then(|it| it.to_str().ok());
    timeout.unwrap_or_default().to_owned()
}

type Prices = Pin<Box<dyn Stream<Item = Result<Price, Status>> + Send>>;

impl NamedService for Replica {
    const NAME: &'static str = "shop.Prices";
}

impl Service<http::Request<Body>> for Replica {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let replica = self.clone();
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::<Price, Item>::default());
            Ok(match request.uri().path() {
                "/shop.Prices/Price" => {
                    let price = service_fn(move |request| replica.clone().price(request));
                    grpc.unary(price, request).await
                }
                "/shop.Prices/Prices" => {
                    let prices = service_fn(move |request| replica.clone().prices(request));
                    grpc.streaming(prices, request).await
                }
                path => Status::unimplemented(path).into_http(),
            })
        })
    }
}
