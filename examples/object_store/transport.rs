//! How the HTTP store of `object_store` sends its requests here: with hyper, without TLS.

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector as Connector},
    rt::TokioExecutor,
};
use object_store::{
    ClientOptions, Result,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
        HttpResponse, HttpResponseBody, HttpService,
    },
};

#[derive(Debug)]
pub(crate) struct Hyper;

impl HttpConnector for Hyper {
    fn connect(&self, _: &ClientOptions) -> Result<HttpClient> {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Ok(HttpClient::new(Transport(client)))
    }
}

#[derive(Debug)]
struct Transport(Client<Connector, HttpRequestBody>);

#[async_trait]
impl HttpService for Transport {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.0.request(request).await;
        let answer = answer.map_err(|error| HttpError::new(HttpErrorKind::Request, error))?;
        let interrupted = |error| HttpError::new(HttpErrorKind::Interrupted, error);
        Ok(answer.map(|body| HttpResponseBody::new(body.map_err(interrupted))))
    }
}
