//! `openapi.json` against the server.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::{http::Answer, request::later};

use crate::{
    guarded::{Guarded, call, json_of},
    schema,
};

const TEXT: &str = include_str!("../../../hyper-delay-server/openapi.json");

const PROTOCOL: &str = include_str!("../../PROTOCOL.md");

fn document() -> Value {
    serde_json::from_str(TEXT).unwrap()
}

/// The methods of each path.
fn operations(document: &Value) -> Vec<(String, BTreeSet<String>)> {
    let paths = document["paths"].as_object().unwrap();
    let methods = |item: &Value| {
        let names = item.as_object().unwrap().keys();
        names.map(|name| name.to_ascii_uppercase()).collect()
    };
    let paths = paths.iter();
    paths
        .map(|(path, item)| (path.clone(), methods(item)))
        .collect()
}

fn filled(path: &str) -> String {
    path.replace("{route}", "mail")
        .replace("{id}", "1")
        .replace("{job}", "1")
}

#[test]
fn the_file_is_served() {
    let server = Guarded::start(json!({}));
    let answer = call(&server, "GET", "/v1/openapi.json", None, None);
    assert_eq!((answer.status, json_of(&answer)), (200, document()));
}

#[test]
fn each_path_has_the_methods_of_the_file() {
    let server = Guarded::start(json!({}));
    for (path, methods) in operations(&document()) {
        let answer = server.call("BREW", &filled(&path), None);
        assert_eq!(answer.status, 405, "{path}");
        let allowed = answer
            .header("allow")
            .unwrap()
            .split(',')
            .map(str::to_owned);
        let allowed: BTreeSet<String> = allowed.filter(|method| method != "HEAD").collect();
        assert_eq!(allowed, methods, "{path}");
        for method in &methods {
            is_documented(&document(), method, &path, &answer);
        }
    }
}

#[test]
fn long_heads_are_refused_as_documented() {
    let server = Guarded::start(json!({}));
    let document = document();
    let long = format!("x: {}\r\n", "a".repeat(9_000));
    for (path, methods) in operations(&document) {
        for method in &methods {
            let answer = crate::guarded::send(&server, method, &filled(&path), &long, "");
            assert_eq!((answer.status, answer.body.as_str()), (431, ""), "{path}");
            let response = response(&document, method, &path, &answer);
            assert!(response["content"].is_null(), "{method} {path}");
        }
    }
}

/// What the file has about an answer.
#[track_caller]
fn response<'a>(document: &'a Value, method: &str, path: &str, answer: &Answer) -> &'a Value {
    let operation = &document["paths"][path][method.to_ascii_lowercase()];
    let mut response = &operation["responses"][answer.status.to_string()];
    if let Some(reference) = response["$ref"].as_str() {
        response = document.pointer(&reference[1..]).unwrap();
    }
    assert!(response.is_object(), "{method} {path}: {answer:?}");
    response
}

/// Checks that an answer is documented.
#[track_caller]
fn is_documented(document: &Value, method: &str, path: &str, answer: &Answer) {
    let response = response(document, method, path, answer);
    let schema = &response["content"]["application/json"]["schema"];
    let checked = schema::check(document, schema, &json_of(answer));
    assert_eq!(checked, Ok(()), "{method} {path}: {answer:?}");
}

#[test]
fn answers_are_as_documented() {
    let server = Guarded::start(json!({"max_attempts": 1}));
    let document = document();
    let mut consumer = server.known_peer();
    consumer.register("mail");
    consumer.due("mail", "1");
    let delivery = consumer.delivery();
    consumer.send(testkit::request::echo("nack", &delivery));
    consumer.stats_until("mail", |stats| stats["dead"] == 1);
    drop(consumer);
    let task =
        json!({"route_key": "mail", "id": "2", "fire_at": later(), "payload_base64": "aGk="});
    let ok = |method: &str, path: &str, query: &str, body: Option<Value>| {
        let answer = server.call(method, &format!("{}{query}", filled(path)), body);
        assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
        is_documented(&document, method, path, &answer);
    };
    ok("POST", "/v1/tasks", "", Some(task));
    ok("GET", "/v1/tasks", "?payload=true", None);
    let id = "?id=2";
    for (path, body) in [
        ("/v1/tasks/{route}/{id}/reschedule", json!({"due": later()})),
        ("/v1/tasks/{route}/{id}/run_now", json!({})),
    ] {
        let target = path.replace("{route}", "mail").replace("{id}", "-");
        let answer = server.call("POST", &format!("{target}{id}"), Some(body));
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        is_documented(&document, "POST", path, &answer);
    }
    ok("GET", "/v1/tasks/{route}/{id}", "?payload=true", None);
    ok("GET", "/v1/dead/{route}", "?payload=true", None);
    ok("GET", "/v1/routes", "", None);
    ok("GET", "/v1/future", "", None);
    ok("GET", "/v1/summary", "", None);
    ok("GET", "/v1/access", "", None);
    ok("GET", "/v1/search", "?id=1", None);
    ok("GET", "/v1/reasons", "?route=mail", None);
    ok(
        "POST",
        "/v1/bulk/{route}/kick",
        "",
        Some(json!({"dry_run": true})),
    );
    ok(
        "POST",
        "/v1/bulk/{route}/delete",
        "",
        Some(json!({"reason": "none such"})),
    );
    ok(
        "POST",
        "/v1/bulk/{route}/run_now",
        "",
        Some(json!({"state": "retrying", "dry_run": true})),
    );
    for to in [
        json!({"due": later()}),
        json!({"shift_ms": 5, "state": "waiting"}),
    ] {
        ok("POST", "/v1/bulk/{route}/reschedule", "", Some(to));
    }
    ok(
        "POST",
        "/v1/routes/{route}/purge",
        "",
        Some(json!({"dry_run": true})),
    );
    ok("POST", "/v1/routes/{route}/pause", "", None);
    ok("GET", "/v1/routes", "?route=mail", None);
    ok("GET", "/v1/summary", "", None);
    ok("POST", "/v1/routes/{route}/resume", "", Some(json!({})));
    ok("POST", "/v1/dead/{route}/{id}/kick", "", None);
    ok("GET", "/v1/jobs", "", None);
    ok("GET", "/v1/audit", "?limit=9", None);
    ok("DELETE", "/v1/tasks/{route}/{id}", "", None);
    for (path, methods) in operations(&document) {
        for method in &methods {
            for (token, query, kind) in [
                (None, "", "application/json"),
                (Some(&server.schedule), "", "application/json"),
                (Some(&server.admin), "?nonsense=1", "application/json"),
                (Some(&server.admin), "", "text/plain"),
            ] {
                let mut headers = format!("content-type: {kind}\r\n");
                if let Some(token) = token {
                    headers.push_str(&format!("authorization: Bearer {token}\r\n"));
                }
                let path_and_query = format!("{}{query}", filled(&path));
                let answer = crate::guarded::send(&server, method, &path_and_query, &headers, "[]");
                if path != "/v1/openapi.json" {
                    is_documented(&document, method, &path, &answer);
                }
            }
        }
    }
}

#[test]
fn fields_of_a_schedule_are_taken() {
    let server = Guarded::start(json!({}));
    let document = document();
    let schema = &document["components"]["schemas"]["Schedule"];
    let fields = schema["properties"].as_object().unwrap();
    for (name, field) in fields {
        // A value of another type is refused with the name of the field.
        let mut task = json!({"route_key": "mail", "fire_at": 0});
        task[name] = json!([field["type"]]);
        let answer = server.call("POST", "/v1/tasks", Some(task));
        assert_eq!(answer.status, 400, "{name}: {answer:?}");
        assert!(answer.body.contains(name.as_str()), "{name}: {answer:?}");
    }
}

/// The rows of a table of PROTOCOL.md after this heading.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let (_, rest) = PROTOCOL.split_once(heading).unwrap();
    let rows = rest
        .lines()
        .skip_while(|line| !line.starts_with("| ---"))
        .skip(1);
    let rows = rows.take_while(|line| line.starts_with("| "));
    rows.map(|row| {
        row.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    })
    .collect()
}

#[test]
fn the_protocol_has_the_statuses_and_the_requests_of_the_file() {
    let document = document();
    let statuses = &document["components"]["responses"]["Problem"]["x-statuses"];
    let mut seen = 0;
    for row in rows("| status | codes |") {
        let codes = row[1].split('`').skip(1).step_by(2);
        for code in codes.filter(|code| *code != "application/json") {
            assert_eq!(statuses[code].to_string(), row[0], "{code}");
            seen += 1;
        }
    }
    assert_eq!(seen, statuses.as_object().unwrap().len());
    let mut requests = BTreeSet::new();
    for row in rows("| request | line |") {
        let (method, target) = row[0].trim_matches('`').split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let operation = &document["paths"][path][method.to_ascii_lowercase()];
        let kind = row[1].split('`').nth(1).unwrap();
        assert_eq!(operation["x-request"], kind, "{target}");
        let written = query.split('&').filter_map(|pair| pair.strip_suffix('='));
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.filter(|parameter| parameter["in"] == "query");
        let names = parameters.map(|parameter| parameter["name"].as_str().unwrap());
        // A name in the path may be in the query instead.
        let names = names.filter(|name| !path.contains(&format!("{{{name}}}")));
        assert!(written.eq(names), "{target}");
        requests.insert((path.to_owned(), method.to_owned()));
    }
    let all = operations(&document);
    let of_protocol = all.iter().flat_map(|(path, methods)| {
        let methods = methods.iter().map(|method| (path.clone(), method.clone()));
        methods.filter(|(path, method)| {
            document["paths"][path][method.to_ascii_lowercase()]["x-request"].is_string()
        })
    });
    assert_eq!(requests, of_protocol.collect());
}
