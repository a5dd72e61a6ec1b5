//! Rules for HTTP and gRPC, and bodies that can be sent again.
//!
//! [`HttpRules`] say which requests may be sent again, and which answers are good. A body is sent
//! again if a [`ReplayLayer`] outside the layer that hedges has wrapped it in a [`ReplayBody`]:
//!
#![cfg_attr(feature = "tokio", doc = "```")]
#![cfg_attr(not(feature = "tokio"), doc = "```ignore")]
//! use std::{convert::Infallible, time::Duration};
//! use http::{Method, Request, Response};
//! use http_body_util::{BodyExt as _, Full};
//! use hyper::body::Bytes;
//! use race_tower::{
//!     http::{HttpRules, ReplayBody, ReplayLayer, TimeLeft},
//!     tokio::HedgeLayer,
//! };
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! // The client: any service of requests with any body, such as one of hyper-util.
//! async fn send(request: Request<ReplayBody<Full<Bytes>>>) -> Result<Response<Bytes>, Infallible> {
//!     let TimeLeft(left) = *request.extensions().get().expect("the layer has a deadline");
//!     assert!(left <= Duration::from_secs(2));
//!     Ok(Response::new(request.into_body().collect().await.expect("it is whole").to_bytes()))
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! let hedge = HedgeLayer::new(Duration::from_millis(50))
//!     .deadline(Duration::from_secs(2))
//!     .rules(HttpRules::new().idempotency_keys().repeat_method(Method::PUT));
//! let mut client = ServiceBuilder::new()
//!     .layer(ReplayLayer::new())
//!     .layer(hedge)
//!     .service(service_fn(send));
//! let request = Request::put("/name").body(Full::new(Bytes::from("value"))).unwrap();
//! let answer = client.ready().await.unwrap().call(request).await.unwrap();
//! assert_eq!(answer.body(), "value");
//! # }
//! ```

mod body;
mod grpc;
mod layer;
mod recording;
mod rules;
mod shared;
mod verdict;

pub use body::ReplayBody;
pub use layer::{Replay, ReplayLayer};
pub use rules::{HttpRules, TimeLeft};

/// An error of a body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
