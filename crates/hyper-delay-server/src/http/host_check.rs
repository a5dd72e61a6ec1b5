//! Checks of every request: its host, its origin and the length of its body.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Uri,
        header::{
            CACHE_CONTROL, CONTENT_LENGTH, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
        },
    },
    middleware::Next,
    response::Response,
};

use super::{
    listener::ConnectionInfo,
    problem::{Problem, ProblemCode},
    state, v1,
};
use hyper_delay_config::{Config, HttpHosts};
use hyper_delay_protocol::Code;

/// Refuses requests that other sites or programs may have caused, and large ones.
pub(super) async fn check_request(
    State(state): State<Arc<state::HttpState>>,
    Extension(info): Extension<ConnectionInfo>,
    request: Request,
    next: Next,
) -> Response {
    let checked = check(&state.configs.borrow(), info, &request);
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(problem) if v1::is_v1_path(request.uri().path()) => problem.json(),
        Err(problem) => problem.text(),
    };
    if let Some(ProblemCode(code)) = response.extensions().get()
        && let Ok(backend) = state.backend()
    {
        backend.metrics.refuse_request(code);
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn check(config: &Config, info: ConnectionInfo, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    check_host(&config.http_hosts, info, request.uri(), headers)?;
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let most = config.max_line_bytes;
    match length.filter(|length| *length > most as u64) {
        Some(length) => Err(too_long(&length.to_string(), most)),
        None => Ok(()),
    }
}

/// The body is longer than a line may be.
pub(super) fn too_long(length: &str, most: usize) -> Problem {
    let message =
        format!("the body has {length} bytes: send at most {most}, or raise max_line_bytes");
    Problem::of(Code::LineTooLong, message)
}

fn check_host(
    hosts: &HttpHosts,
    info: ConnectionInfo,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let missing = || Problem::bad_field("there is no Host: send one, such as localhost");
    let host = single_header(headers, HOST)?.ok_or_else(missing)?;
    // A request for a whole URL names the host there, too.
    let named = uri.authority().map(|authority| authority.as_str());
    for host in [Some(host), named].into_iter().flatten() {
        if !hosts.allows(host, info.local) {
            let text = format!("Host is {host:?}, which is not in http_hosts: add it there");
            return Err(Problem::forbidden(text));
        }
    }
    let origin = single_header(headers, ORIGIN)?;
    if let Some(origin) = origin.filter(|origin| !is_same_origin(origin, host, info.is_encrypted)) {
        let text = format!("Origin is {origin:?}: other sites may not send requests here");
        return Err(Problem::forbidden(text));
    }
    Ok(())
}

/// Returns the value of a header that may be there once.
pub(super) fn single_header(
    headers: &HeaderMap,
    name: HeaderName,
) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(&name).iter();
    let bad = |what: &str| Problem::bad_field(format!("{name} {what}"));
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(bad("is there twice: send it once"));
    }
    let value = value.to_str().map(Some);
    value.map_err(|_| bad("is not ASCII: send it in ASCII"))
}

/// Whether an origin is the host that the request was sent to. Over an encrypted connection a plain
/// page is another site. A plain connection can come from a proxy that has spoken HTTPS.
fn is_same_origin(origin: &str, host: &str, is_encrypted: bool) -> bool {
    let plain = || origin.strip_prefix("http://").filter(|_| !is_encrypted);
    let authority = origin.strip_prefix("https://").or_else(plain);
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_scheme_host_and_port_are_the_same_origin() {
        assert!(is_same_origin(
            "http://localhost:7001",
            "localhost:7001",
            false
        ));
        for is_encrypted in [false, true] {
            assert!(is_same_origin(
                "https://Localhost",
                "localhost",
                is_encrypted
            ));
        }
        assert!(!is_same_origin("http://localhost", "localhost", true));
        for origin in [
            "null",
            "localhost:7001",
            "http://localhost",
            "http://localhost:7002",
            "http://localhost:70011",
            "http://localhost:7001.example.org",
            "file://localhost:7001",
        ] {
            assert!(!is_same_origin(origin, "localhost:7001", false), "{origin}");
        }
    }
}
