//! Tasks over HTTP: each request is the one of the protocol.

use serde_json::json;
use testkit::request::{later, now};

use crate::guarded::{Guarded, call, error, json_of};

#[test]
fn a_task_is_scheduled_seen_and_cancelled() {
    let server = Guarded::start(json!({}));
    let at = later();
    let task = json!({
        "route_key": "mail", "id": "order-17", "fire_at": at, "payload_base64": "aGVsbG8=",
    });
    let scheduled = server.reply("POST", "/v1/tasks", Some(task.clone()));
    let expected = json!({
        "kind": "scheduled", "id": "order-17", "route_key": "mail", "fire_at": at,
    });
    assert_eq!(scheduled, expected);
    assert_eq!(
        server.reply("POST", "/v1/tasks", Some(task)),
        expected,
        "repeated"
    );
    let seen = server.reply("GET", "/v1/tasks/mail/order-17?payload=true", None);
    assert_eq!(seen["state"], "waiting");
    assert_eq!(seen["payload_base64"], "aGVsbG8=");
    let list = server.reply("GET", "/v1/tasks?route=mail&state=waiting&limit=5", None);
    assert_eq!(list["tasks"][0]["id"], "order-17");
    assert_eq!(
        server.reply("GET", "/v1/tasks?until=1", None)["tasks"],
        json!([])
    );
    let routes = server.reply("GET", "/v1/routes?route=mail", None);
    assert_eq!(routes["routes"][0]["waiting"], 1);
    let future = server.reply("GET", "/v1/future", None);
    let hours = future["hours"].as_array().unwrap();
    assert_eq!(
        hours.iter().filter_map(|hour| hour.as_u64()).sum::<u64>(),
        1
    );
    let cancelled = server.reply("DELETE", "/v1/tasks/mail/order-17", None);
    assert_eq!(
        (&cancelled["found"], &cancelled["in_flight"]),
        (&json!(true), &json!(false))
    );
    for method in ["GET", "DELETE"] {
        let answer = server.call(method, "/v1/tasks/mail/order-17", None);
        assert_eq!(error(&answer), (404, "not_found".to_owned()));
    }
}

#[test]
fn a_delay_counts_from_the_clock_of_the_server_and_is_not_counted_again() {
    let server = Guarded::start(json!({}));
    let task = json!({"route_key": "mail", "id": "1", "delay_ms": 60_000});
    let before = now();
    let scheduled = server.reply("POST", "/v1/tasks", Some(task.clone()));
    let fire_at = scheduled["fire_at"].as_u64().unwrap();
    assert!((before + 60_000..=now() + 60_000).contains(&fire_at));
    let seen = server.reply("GET", "/v1/tasks/mail/1", None);
    assert_eq!(
        (&seen["fire_at"], &seen["due"]),
        (&json!(fire_at), &json!(fire_at))
    );
    let again = server.reply("POST", "/v1/tasks", Some(task));
    assert_eq!(again, scheduled);
}

#[test]
fn a_task_is_moved() {
    let server = Guarded::start(json!({"max_attempts": 1}));
    let at = later();
    let task = json!({"route_key": "mail", "id": "1", "fire_at": at});
    server.reply("POST", "/v1/tasks", Some(task));
    let path = "/v1/tasks/mail/1/reschedule";
    let due = at + 1_000;
    let moved = server.reply("POST", path, Some(json!({"due": due})));
    let expected = json!({
        "kind": "moved", "id": "1", "route_key": "mail", "found": true, "moved": true, "due": due,
    });
    assert_eq!(moved, expected);
    let answer = server.call("POST", path, Some(json!({})));
    assert_eq!(error(&answer), (400, "missing_field".to_owned()));
    let answer = server.call("POST", path, Some(json!({"fire_at": due})));
    assert_eq!(error(&answer), (400, "bad_field".to_owned()));
    let mut consumer = server.known_peer();
    consumer.register("mail");
    let moved = server.reply("POST", "/v1/tasks/mail/1/run_now", None);
    assert!(moved["due"].as_u64().unwrap() < at);
    let delivery = consumer.delivery();
    let moved = server.reply("POST", "/v1/tasks/mail/1/run_now", None);
    assert_eq!(
        (&moved["found"], &moved["moved"]),
        (&json!(true), &json!(false))
    );
    consumer.send(testkit::request::echo("nack", &delivery));
    consumer.stats_until("mail", |stats| stats["dead"] == 1);
    let answer = server.call("POST", "/v1/tasks/mail/1/run_now", None);
    assert_eq!(error(&answer), (409, "dead".to_owned()));
    let answer = server.call("POST", "/v1/tasks/mail/none/run_now", None);
    assert_eq!(error(&answer), (404, "not_found".to_owned()));
}

#[test]
fn other_content_is_a_conflict_and_replaces_if_asked() {
    let server = Guarded::start(json!({}));
    let mut task = json!({"route_key": "mail", "id": "1", "fire_at": later()});
    server.reply("POST", "/v1/tasks", Some(task.clone()));
    task["payload_base64"] = json!("aGk=");
    let answer = server.call("POST", "/v1/tasks", Some(task.clone()));
    assert_eq!(error(&answer), (409, "duplicate_id".to_owned()));
    task["replace"] = json!(true);
    server.reply("POST", "/v1/tasks", Some(task));
}

#[test]
fn names_are_percent_encoded_in_paths() {
    let server = Guarded::start(json!({}));
    for (name, encoded) in [
        ("a/b", "a%2Fb"),
        ("ä €", "%C3%A4%20%E2%82%AC"),
        ("%41?&=#", "%2541%3F%26%3D%23"),
        (
            "<img src=x onerror=alert(1)>",
            "%3Cimg%20src=x%20onerror=alert(1)%3E",
        ),
        ("+", "+"),
        ("\"\\", "%22%5C"),
    ] {
        let task = json!({"route_key": name, "id": name, "fire_at": later()});
        server.reply("POST", "/v1/tasks", Some(task));
        let seen = server.reply("GET", &format!("/v1/tasks/{encoded}/{encoded}"), None);
        assert_eq!(
            (&seen["id"], &seen["route_key"]),
            (&json!(name), &json!(name))
        );
        let in_query = encoded.replace('+', "%2B");
        let list = server.reply("GET", &format!("/v1/tasks?route={in_query}"), None);
        assert_eq!(list["tasks"].as_array().unwrap().len(), 1, "{name}");
        let found = server.reply("GET", &format!("/v1/search?id={in_query}"), None);
        assert_eq!(found["tasks"][0]["route_key"], name);
        server.reply("DELETE", &format!("/v1/tasks/{encoded}/{encoded}"), None);
    }
    let bad = server.call("GET", "/v1/tasks/%FF/x", None);
    assert_eq!(error(&bad), (400, "bad_field".to_owned()));
    let long = format!("/v1/tasks/{}/x", "r".repeat(129));
    assert_eq!(
        error(&server.call("GET", &long, None)),
        (400, "bad_field".to_owned())
    );
}

#[test]
fn names_that_clients_take_out_of_a_path_are_in_the_query() {
    let server = Guarded::start(json!({"max_attempts": 1}));
    for (route, id) in [(".", ".."), ("..", "."), ("a", "."), (".", "a"), ("-", "-")] {
        let task = json!({"route_key": route, "id": id, "fire_at": later()});
        server.reply("POST", "/v1/tasks", Some(task));
        let path = format!("/v1/tasks/-/-?route={route}&id={id}");
        let seen = server.reply("GET", &path, None);
        assert_eq!(
            (&seen["route_key"], &seen["id"]),
            (&json!(route), &json!(id))
        );
        server.reply("DELETE", &path, None);
        let paused = server.reply("POST", &format!("/v1/routes/-/pause?route={route}"), None);
        assert_eq!(paused["route_key"], route);
    }
    let task = json!({"route_key": "-", "id": "-", "fire_at": later()});
    server.reply("POST", "/v1/tasks", Some(task));
    let seen = server.reply("GET", "/v1/tasks/-/-", None);
    assert_eq!(
        seen["id"], "-",
        "without the query, - is a name like others"
    );
    let dead = server.reply("GET", "/v1/dead/-?route=.&limit=1", None);
    assert_eq!(dead["route_key"], ".");
    for path in ["/v1/tasks/a/-?route=.&id=.", "/v1/dead/a?route=."] {
        let answer = server.call("GET", path, None);
        assert_eq!(error(&answer), (400, "bad_field".to_owned()), "{path}");
        let text = "route is in the path and in the query: write - in the path";
        assert!(answer.body.contains(text), "{answer:?}");
    }
    // What a client makes of the route `.`.
    let answer = server.call("POST", "/v1/routes/pause?route=.", None);
    assert_eq!(answer.status, 404, "{answer:?}");
}

#[test]
fn a_consumer_receives_what_was_scheduled_over_http() {
    let server = Guarded::start(json!({}));
    let mut consumer = server.known_peer();
    consumer.register("mail");
    let task = json!({"route_key": "mail", "fire_at": 0, "payload_base64": "aGk="});
    let id = server.reply("POST", "/v1/tasks", Some(task))["id"].take();
    let delivery = consumer.delivery();
    assert_eq!(
        (&delivery["kind"], &delivery["id"]),
        (&json!("delivery"), &id)
    );
    assert!(consumer.removes(&delivery));
    let answer = server.call(
        "GET",
        &format!("/v1/tasks/mail/{}", id.as_str().unwrap()),
        None,
    );
    assert_eq!(answer.status, 404);
}

#[test]
fn times_may_be_in_rfc_3339() {
    let server = Guarded::start(json!({}));
    let task = json!({
        "route_key": "mail", "id": "1", "fire_at": "2030-01-31T08:00:00.0001+01:00",
        "expires_at": "2030-01-31T08:00:01+01:00",
    });
    let scheduled = server.reply("POST", "/v1/tasks", Some(task));
    assert_eq!(scheduled["fire_at"], 1_896_073_200_001_u64);
    let found = |query: &str| {
        let list = server.reply("GET", &format!("/v1/tasks?{query}"), None);
        list["tasks"].as_array().unwrap().len()
    };
    assert_eq!(found("from=2030-01-31T08:00:00.001%2B01:00"), 1);
    assert_eq!(found("from=2030-01-31T07:00:00.0011Z"), 0);
    assert_eq!(found("until=2030-01-31T07:00:00.002Z"), 1);
    assert_eq!(found("until=2030-01-31T07:00:00.001Z"), 0);
    let purged = json!({"until": "2030-01-31T07:00:00", "dry_run": true});
    let refused = server.call("POST", "/v1/bulk/mail/kick", Some(purged));
    assert_eq!(error(&refused), (400, "bad_field".to_owned()));
}

#[test]
fn a_dead_letter_is_listed_and_kicked() {
    let server = Guarded::start(json!({"max_attempts": 1}));
    let mut consumer = server.known_peer();
    consumer.register("mail");
    consumer.due("mail", "1");
    let delivery = consumer.delivery();
    consumer.send(testkit::request::echo("nack", &delivery));
    consumer.stats_until("mail", |stats| stats["dead"] == 1);
    let dead = server.reply("GET", "/v1/dead/mail?limit=10", None);
    assert_eq!(dead["tasks"][0]["id"], "1");
    let kicked = server.reply("POST", "/v1/dead/mail/1/kick", None);
    assert_eq!(
        (&kicked["kind"], &kicked["found"]),
        (&json!("kicked"), &json!(true))
    );
    assert_eq!(consumer.delivery()["id"], "1");
    let again = server.call("POST", "/v1/dead/mail/1/kick", None);
    assert_eq!(error(&again), (404, "not_found".to_owned()));
}

#[test]
fn an_id_is_found_on_all_routes_that_the_token_sees() {
    let server = Guarded::start(json!({}));
    for route in ["mail", "pay", "mail2"] {
        let task = json!({"route_key": route, "id": "same", "fire_at": later()});
        server.reply("POST", "/v1/tasks", Some(task));
    }
    let found = server.reply("GET", "/v1/search?id=same", None);
    assert_eq!(found["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(found["more"], false);
    let local = call(
        &server,
        "GET",
        "/v1/search?id=same",
        Some(&server.local),
        None,
    );
    let found = json_of(&local);
    assert_eq!(found["tasks"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["tasks"][0]["route_key"], "mail");
    let none = server.reply("GET", "/v1/search?id=other", None);
    assert_eq!(none, json!({"tasks": [], "more": false}));
}

#[test]
fn requests_under_way_are_answered_before_the_server_ends() {
    let server = Guarded::start(json!({"sync": "always"}));
    let address = server.http;
    let token = server.admin.clone();
    let request = move |id: usize| {
        let body = json!({"route_key": "mail", "id": id.to_string(), "fire_at": later()});
        let body = body.to_string();
        format!(
            "POST /v1/tasks HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let senders: Vec<_> = (0..8)
        .map(|sender| {
            let request = request.clone();
            std::thread::spawn(move || {
                for number in 0.. {
                    let Ok(stream) = std::net::TcpStream::connect(address) else {
                        return;
                    };
                    let bytes = request(sender * 1_000_000 + number);
                    if std::io::Write::write_all(&mut &stream, bytes.as_bytes()).is_err() {
                        return;
                    }
                    let answer = testkit::http::rest(&stream);
                    // A connection can be closed before its request is read, but never half
                    // answered.
                    if answer.is_empty() {
                        return;
                    }
                    let answer = testkit::http::parse(&answer).unwrap();
                    assert!(matches!(answer.status, 200 | 503), "{answer:?}");
                    if answer.status == 503 {
                        assert!(answer.header("retry-after").is_some());
                        return;
                    }
                }
            })
        })
        .collect();
    while server.known_peer().all_stats()["waiting"].as_u64() < Some(20) {}
    server.signal("TERM");
    for sender in senders {
        sender.join().unwrap();
    }
    server.logs("everything acknowledged is on disk");
}
