use axum::{
    http::{
        HeaderValue, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use super::state::NotServing;
use crate::connection::NoReply;
use hyper_delay_protocol::{Code, Refusal};

/// Seconds after which a request may succeed that failed because of the server's state.
const RETRY: HeaderValue = HeaderValue::from_static("5");

/// The codes that only requests over HTTP receive.
pub(in crate::http) mod code {
    pub(in crate::http) use hyper_delay_engine::metrics::http_code::{
        MEDIA_TYPE, METHOD, TIMEOUT, UNAUTHENTICATED,
    };

    pub(in crate::http) const NOT_FOUND: &str = "not_found";
    pub(in crate::http) const STARTING: &str = "starting";
    /// A code of the protocol, too.
    pub(in crate::http) const UNAVAILABLE: &str = super::Code::Unavailable.as_str();

    #[cfg(test)]
    pub(in crate::http) const ALL: [&str; 6] = [
        UNAUTHENTICATED,
        NOT_FOUND,
        METHOD,
        MEDIA_TYPE,
        STARTING,
        TIMEOUT,
    ];
}

/// The code of a refusal, as an extension of the response, to be counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProblemCode(pub(super) &'static str);

/// The reason why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Problem {
    /// A problem with a code of the protocol.
    pub(super) fn of(code: Code, message: impl Into<String>) -> Self {
        Self {
            status: status(code),
            code: code.as_str(),
            message: message.into(),
        }
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Self::of(Code::Forbidden, message)
    }

    pub(super) fn bad_field(message: impl Into<String>) -> Self {
        Self::of(Code::BadField, message)
    }

    /// A problem that only requests over HTTP have.
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        let status = match code {
            code::UNAUTHENTICATED => StatusCode::UNAUTHORIZED,
            code::NOT_FOUND => StatusCode::NOT_FOUND,
            code::METHOD => StatusCode::METHOD_NOT_ALLOWED,
            code::MEDIA_TYPE => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            code::TIMEOUT => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self {
            status,
            code,
            message: message.into(),
        }
    }

    #[cfg(test)]
    pub(super) const fn status(&self) -> StatusCode {
        self.status
    }

    /// The answer to a program: `{"error":{"code":…,"message":…}}`.
    pub(super) fn json(self) -> Response {
        let body = json!({"error": {"code": self.code, "message": self.message}}).to_string();
        self.with_body("application/json", body)
    }

    /// The answer to a person.
    pub(super) fn text(self) -> Response {
        let body = format!("{}\n", self.message);
        self.with_body("text/plain; charset=utf-8", body)
    }

    fn with_body(self, kind: &'static str, body: String) -> Response {
        let mut response = (self.status, [(CONTENT_TYPE, kind)], body).into_response();
        response.extensions_mut().insert(ProblemCode(self.code));
        let headers = response.headers_mut();
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(RETRY_AFTER, RETRY);
            }
            _ => {}
        }
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::of(refusal.code, refusal.message)
    }
}

impl From<NotServing> for Problem {
    fn from(reason: NotServing) -> Self {
        match reason {
            NotServing::Opening | NotServing::Joining => Self::new(code::STARTING, reason.as_str()),
            NotServing::Stopping => Self::of(Code::ShuttingDown, reason.as_str()),
        }
    }
}

impl From<NoReply> for Problem {
    fn from(reason: NoReply) -> Self {
        match reason {
            NoReply::ShuttingDown => Self::of(
                Code::ShuttingDown,
                "the server is shutting down: send it again after the restart",
            ),
            NoReply::Unknown => Self::new(
                code::TIMEOUT,
                "the server has not answered in time, and the request can still take effect: look \
                 before you send it again",
            ),
        }
    }
}

/// The status of an error of the protocol.
const fn status(code: Code) -> StatusCode {
    match code {
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::DuplicateId | Code::Dead => StatusCode::CONFLICT,
        Code::LineTooLong | Code::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
        Code::TooManyRoutes | Code::Quota => StatusCode::TOO_MANY_REQUESTS,
        Code::Damaged => StatusCode::INTERNAL_SERVER_ERROR,
        Code::DiskFull
        | Code::ShuttingDown
        | Code::TooManyConnections
        | Code::Busy
        | Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}
