//! Calls over a connection.

use http::uri::PathAndQuery;
use prost::Message;
use tokio_stream::Stream;
use tonic::{
    Request, Status, Streaming,
    client::Grpc,
    metadata::{Ascii, MetadataValue},
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

use crate::Error;

/// What a call of a user is made with.
pub(crate) type Token = MetadataValue<Ascii>;

/// A connection, which is made with the first call, and made anew with the first one after it is
/// lost. Clones share it.
#[derive(Clone)]
pub(crate) struct Transport {
    grpc: Grpc<Channel>,
}

impl Transport {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let grpc = Grpc::new(endpoint.connect_lazy());
        Self { grpc }
    }

    /// A call with one response.
    pub(crate) async fn unary<Q, A>(
        &self,
        path: &'static str,
        message: Q,
        token: Option<&Token>,
    ) -> Result<A, Error>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let (mut grpc, path) = (self.ready().await?, PathAndQuery::from_static(path));
        let call = grpc.unary(request(message, token), path, ProstCodec::default());
        Ok(call.await?.into_inner())
    }

    /// A call with a stream of messages in each direction.
    pub(crate) async fn streaming<Q, A>(
        &self,
        path: &'static str,
        messages: impl Stream<Item = Q> + Send + 'static,
        token: Option<&Token>,
    ) -> Result<Streaming<A>, Error>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let (mut grpc, path) = (self.ready().await?, PathAndQuery::from_static(path));
        let call = grpc.streaming(request(messages, token), path, ProstCodec::default());
        Ok(call.await?.into_inner())
    }

    async fn ready(&self) -> Result<Grpc<Channel>, Error> {
        let mut grpc = self.grpc.clone();
        let ready = grpc.ready().await;
        ready.map_err(|error| Status::from_error(error.into()))?;
        Ok(grpc)
    }
}

/// Requires that the member has a leader.
fn request<T>(message: T, token: Option<&Token>) -> Request<T> {
    let mut request = Request::new(message);
    let metadata = request.metadata_mut();
    metadata.insert("hasleader", MetadataValue::from_static("true"));
    if let Some(token) = token {
        metadata.insert("token", token.clone());
    }
    request
}
