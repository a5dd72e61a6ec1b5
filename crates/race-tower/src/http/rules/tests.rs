use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use race_core::Verdict;

use super::HttpRules;
use crate::{Rules, http::ReplayBody};

type Req = Request<ReplayBody<Full<Bytes>>>;

fn request(method: &str, path: &str, header: Option<(&str, &str)>) -> Req {
    let mut request = Request::builder().method(method).uri(path);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    let body = ReplayBody::new(Full::from("body"), 100);
    request.body(body).expect("it is valid")
}

fn repeats(rules: &HttpRules, request: &Req) -> bool {
    Rules::<Req, Response<()>, ()>::repeat(rules, request).is_some()
}

#[test]
fn requests_that_are_safe_are_repeated_by_default() {
    let rules = HttpRules::new();
    for method in ["GET", "HEAD", "OPTIONS"] {
        assert!(repeats(&rules, &request(method, "/", None)), "{method}");
    }
    let key = Some(("idempotency-key", "1"));
    for method in ["PUT", "DELETE", "POST", "PATCH", "CONNECT", "TRACE", "get"] {
        assert!(!repeats(&rules, &request(method, "/", key)), "{method}");
    }
}

#[test]
fn other_requests_are_repeated_if_the_caller_says_so() {
    let rules = HttpRules::new().repeat_method(Method::PUT);
    assert!(repeats(&rules, &request("PUT", "/", None)));
    assert!(repeats(&rules, &request("GET", "/", None)));
    assert!(!repeats(&rules, &request("DELETE", "/", None)));

    let rules = HttpRules::new().idempotency_keys();
    let key = Some(("Idempotency-Key", "1"));
    assert!(repeats(&rules, &request("POST", "/", key)));
    assert!(!repeats(&rules, &request("POST", "/", None)));
}

#[test]
fn methods_of_grpc_are_repeated_by_their_paths() {
    let rules = HttpRules::new().grpc_methods(["/shop.Items/Find", "/shop.Prices/*"]);
    for (path, expected) in [
        ("/shop.Items/Find", true),
        ("/shop.Items/FindAll", false),
        ("/shop.Items/Buy", false),
        ("/shop.Prices/Of", true),
        ("/shop.Prices/", false),
        ("/shop.PricesOld/Of", false),
        ("/other/shop.Prices/Of", false),
    ] {
        let request = request("POST", path, Some(("content-type", "application/grpc")));
        assert_eq!(repeats(&rules, &request), expected, "{path}");
    }
}

#[test]
fn copy_has_all_parts_of_the_request() {
    let mut original = request("GET", "/path?query", Some(("name", "value")));
    *original.version_mut() = http::Version::HTTP_2;
    original.extensions_mut().insert(7_u8);
    let rules = HttpRules::new();
    let copy = Rules::<Req, Response<()>, ()>::repeat(&rules, &original).expect("a GET");
    assert_eq!(copy.method(), original.method());
    assert_eq!(copy.uri(), original.uri());
    assert_eq!(copy.version(), original.version());
    assert_eq!(copy.headers(), original.headers());
    assert_eq!(copy.extensions().get(), Some(&7_u8));
}

fn judged(rules: &HttpRules, status: u16, headers: &[(&str, &str)]) -> Verdict {
    let mut answer = Response::builder().status(status);
    for &(name, value) in headers {
        answer = answer.header(name, value);
    }
    let answer = Ok::<_, ()>(answer.body(()).expect("it is valid"));
    Rules::<Req, _, _>::judge(rules, &answer)
}

#[test]
fn answers_are_judged_by_their_headers() {
    let (seconds, millis) = (Duration::from_secs, Duration::from_millis);
    let rules = HttpRules::new();
    let failed = Verdict::Retryable;
    for (status, headers, expected) in [
        (200, &[][..], Verdict::Accept),
        (404, &[], Verdict::Accept),
        (500, &[], Verdict::Accept),
        (502, &[], failed),
        (504, &[], failed),
        (429, &[], failed),
        (429, &[("retry-after", "3")], Verdict::NotBefore(seconds(3))),
        (503, &[("retry-after", "0")], failed),
        // More seconds than a number holds are a long pause, and not none.
        (
            503,
            &[("retry-after", "18446744073709551616")],
            Verdict::NotBefore(seconds(u64::MAX)),
        ),
        (503, &[("retry-after", "+3")], failed),
        (503, &[("retry-after", "-3")], failed),
        (503, &[("retry-after", "")], failed),
        (
            503,
            &[("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")],
            failed,
        ),
        (200, &[("retry-after", "3")], Verdict::Accept),
        (200, &[("grpc-status", "0")], Verdict::Accept),
        (200, &[("grpc-status", "5")], Verdict::Accept),
        (200, &[("grpc-status", "14")], failed),
        (503, &[("grpc-status", "5")], Verdict::Accept),
        (200, &[("grpc-status", "x")], Verdict::Accept),
    ] {
        assert_eq!(
            judged(&rules, status, headers),
            expected,
            "{status} {headers:?}"
        );
    }
    for (pushback, expected) in [
        ("250", Verdict::NotBefore(millis(250))),
        ("0", failed),
        ("-1", Verdict::NoMoreStarts),
        ("soon", Verdict::NoMoreStarts),
        ("1.5", Verdict::NoMoreStarts),
        ("", Verdict::NoMoreStarts),
    ] {
        let pushback = ("grpc-retry-pushback-ms", pushback);
        let headers = [("grpc-status", "14"), pushback];
        assert_eq!(judged(&rules, 200, &headers), expected, "{pushback:?}");
        let fatal = [("grpc-status", "3"), pushback];
        assert_eq!(judged(&rules, 200, &fatal), Verdict::Accept);
    }
    let error = Err::<Response<()>, _>(());
    assert_eq!(Rules::<Req, _, _>::judge(&rules, &error), failed);
}

#[test]
fn statuses_and_codes_are_those_of_the_caller() {
    let rules = HttpRules::new()
        .retry_statuses([StatusCode::INTERNAL_SERVER_ERROR])
        .retry_grpc_codes([2]);
    for (status, headers, expected) in [
        (500, &[][..], Verdict::Retryable),
        (503, &[], Verdict::Accept),
        (200, &[("grpc-status", "14")], Verdict::Accept),
        (200, &[("grpc-status", "2")], Verdict::Retryable),
        (200, &[("grpc-status", "none")], Verdict::Retryable),
    ] {
        assert_eq!(
            judged(&rules, status, headers),
            expected,
            "{status} {headers:?}"
        );
    }
}
