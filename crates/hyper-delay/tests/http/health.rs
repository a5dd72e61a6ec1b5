use serde_json::json;
use testkit::http;

use crate::{server::Server, starting::Starting};

#[test]
fn a_server_is_alive_and_ready() {
    let server = Server::start(json!({}));
    for (path, body) in [("/healthz", "alive\n"), ("/readyz", "ready\n")] {
        let answer = server.get(path);
        assert_eq!((answer.status, &*answer.body), (200, body));
        let kind = answer.header("content-type");
        assert_eq!(kind, Some("text/plain; charset=utf-8"));
    }
    let metrics = server.get("/metrics");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(metrics.header("content-type"), Some(kind));
}

#[test]
fn answers_have_no_cookies_and_no_cors_headers_and_are_not_stored() {
    let server = Server::start(json!({}));
    let origin = format!("origin: http://{}\r\n", server.http);
    for path in ["/healthz", "/readyz", "/metrics", "/no"] {
        let answer = http::get_with(server.http, path, &origin);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        for (name, _) in &answer.headers {
            assert!(!name.starts_with("access-control-"), "{name}");
            assert_ne!(name, "set-cookie");
        }
    }
}

#[test]
fn other_paths_and_methods_are_refused_with_the_cure() {
    let server = Server::start(json!({}));
    let answer = server.get("/no");
    assert_eq!(answer.status, 404);
    assert!(
        answer
            .body
            .starts_with("\"/no\" does not exist: ask for /, /healthz")
    );
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
        let request =
            format!("{method} /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let answer = http::ask(server.http, &request);
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(
            answer.body,
            format!("the method is {method}: use GET or HEAD\n")
        );
        assert_eq!(answer.header("allow"), Some("GET,HEAD"));
    }
    let head = "HEAD /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answer = http::ask(server.http, head);
    assert_eq!((answer.status, &*answer.body), (200, ""));
}

#[test]
fn a_server_is_alive_and_not_ready_while_its_store_opens() {
    let starting = Starting::start();
    assert_eq!(http::get(starting.http, "/healthz").status, 200);
    for path in ["/readyz", "/metrics"] {
        let answer = http::get(starting.http, path);
        assert_eq!(answer.status, 503);
        assert_eq!(answer.body, "the store is being opened: wait\n");
    }
}
