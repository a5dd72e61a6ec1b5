//! A `fetch` that is aborted when it is dropped.

use std::fmt;

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, RequestInit, Response, window};

/// Gets a text.
///
/// A race cancels an attempt by dropping its future, and that aborts the request: the browser
/// closes the connection, and the server can stop working on the answer.
pub(crate) async fn text(url: String) -> Result<String, RequestError> {
    let abort = AbortOnDrop(AbortController::new()?);
    let options = RequestInit::new();
    options.set_signal(Some(&abort.0.signal()));
    let window = window().expect("this runs in a page");
    let response = JsFuture::from(window.fetch_with_str_and_init(&url, &options)).await?;
    let response: Response = response.unchecked_into();
    if !response.ok() {
        return Err(RequestError::Status(response.status()));
    }
    let text = JsFuture::from(response.text()?).await?;
    Ok(text.as_string().unwrap_or_default())
}

/// Aborting a request that has ended does nothing.
struct AbortOnDrop(AbortController);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Debug)]
pub(crate) enum RequestError {
    /// The mirror answered with this status.
    Status(u16),
    /// The mirror could not be asked.
    Network(JsValue),
}

impl From<JsValue> for RequestError {
    fn from(error: JsValue) -> Self {
        Self::Network(error)
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            Self::Network(error) => write!(f, "{error:?}"),
        }
    }
}

impl std::error::Error for RequestError {}
