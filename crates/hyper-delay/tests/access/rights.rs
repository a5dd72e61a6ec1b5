use serde_json::Value;
use testkit::{
    Peer,
    request::{later, schedule},
};

use crate::server::{ALL, Server, auth, authenticate, with_token};

/// Requests on the route "mail", and the right that each needs. `nack` has no reply.
const REQUESTS: [(&str, &str); 21] = [
    (
        "schedule",
        r#"{"kind":"schedule","route_key":"mail","fire_at":LATER}"#,
    ),
    (
        "schedule",
        r#"{"kind":"cancel","route_key":"mail","id":"none"}"#,
    ),
    ("consume", r#"{"kind":"register","route_key":"mail"}"#),
    ("consume", r#"{"kind":"unregister","route_key":"mail"}"#),
    (
        "consume",
        r#"{"kind":"ack","id":"none","route_key":"mail","confirm":true}"#,
    ),
    (
        "consume",
        r#"{"kind":"touch","id":"none","route_key":"mail"}"#,
    ),
    ("admin", r#"{"kind":"stats","route_key":"mail"}"#),
    ("admin", r#"{"kind":"stats"}"#),
    ("admin", r#"{"kind":"list","route_key":"mail"}"#),
    ("admin", r#"{"kind":"reasons","route_key":"mail"}"#),
    (
        "admin",
        r#"{"kind":"delete","route_key":"mail","id":"none"}"#,
    ),
    ("admin", r#"{"kind":"kick_all","route_key":"mail"}"#),
    ("admin", r#"{"kind":"delete_all","route_key":"mail"}"#),
    (
        "admin",
        r#"{"kind":"purge","route_key":"mail","dry_run":true}"#,
    ),
    ("admin", r#"{"kind":"purge","route_key":"mail"}"#),
    ("admin", r#"{"kind":"pause","route_key":"mail"}"#),
    ("admin", r#"{"kind":"resume","route_key":"mail"}"#),
    ("admin", r#"{"kind":"dead","route_key":"mail"}"#),
    ("admin", r#"{"kind":"kick","route_key":"mail","id":"none"}"#),
    ("none", r#"{"kind":"ping"}"#),
    ("none", r#"{"kind":"hello","protocol":2}"#),
];

/// Requests that need `admin` on every route.
const EVERYWHERE: [&str; 7] = [
    r#"{"kind":"list"}"#,
    r#"{"kind":"reasons"}"#,
    r#"{"kind":"future"}"#,
    r#"{"kind":"jobs"}"#,
    r#"{"kind":"stop","job":1}"#,
    r#"{"kind":"audit"}"#,
    r#"{"kind":"backup"}"#,
];

/// Whether a request is not refused for a lack of rights.
fn is_permitted(peer: &mut Peer, request: &str) -> bool {
    let reply = peer.ask(&request.replace("LATER", &later().to_string()));
    let is_forbidden = reply["code"] == "forbidden";
    assert!(is_forbidden || reply["kind"] != "error", "{reply}");
    !is_forbidden
}

#[test]
fn each_request_needs_its_right_on_its_route() {
    let (server, tokens) = Server::with([
        (&["schedule"], &["mail"]),
        (&["consume"], &["mail"]),
        (&["admin"], &["mail"]),
        ALL,
    ]);
    let rights = ["schedule", "consume", "admin"];
    for (token, right) in tokens.iter().zip(rights) {
        let mut peer = server.peer_with(token);
        for (needed, request) in REQUESTS {
            let wanted = needed == right || needed == "none";
            assert_eq!(
                is_permitted(&mut peer, request),
                wanted,
                "{right}: {request}"
            );
            let other = request.replace("mail", "pay");
            let is_answer = ["ack", "touch"].map(|kind| format!("\"{kind}\""));
            if other != request && !is_answer.iter().any(|kind| request.contains(kind)) {
                assert!(!is_permitted(&mut peer, &other), "{right}: {other}");
            }
        }
    }
    let mut all = server.peer_with(&tokens[3]);
    for (_, request) in REQUESTS {
        assert!(is_permitted(&mut all, request), "{request}");
    }
}

#[test]
fn what_is_of_all_routes_needs_admin_on_every_route() {
    let (server, [all, some, other]) = Server::with([
        (&["admin"], &["*"]),
        (&["admin"], &["mail*"]),
        (&["schedule", "consume"], &["*"]),
    ]);
    for token in [some, other] {
        let mut peer = server.peer_with(&token);
        for request in EVERYWHERE {
            let error = peer.ask(request);
            assert_eq!(error["code"], "forbidden", "{request}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("on every route"), "{message}");
        }
    }
    let mut peer = server.peer_with(&all);
    for request in EVERYWHERE {
        assert!(is_permitted(&mut peer, request), "{request}");
    }
}

#[test]
fn a_later_auth_replaces_the_token() {
    let (server, [first, second]) = Server::with([
        (&["schedule", "admin"], &["mail"]),
        (&["consume"], &["pay"]),
    ]);
    let mut peer = server.peer_with(&first);
    let schedule = schedule("mail", "1", later());
    let of_the_first = [&*schedule, r#"{"kind":"stats","route_key":"mail"}"#];
    let of_the_second = r#"{"kind":"register","route_key":"pay"}"#;
    for request in of_the_first {
        assert!(is_permitted(&mut peer, request), "{request}");
    }
    assert!(!is_permitted(&mut peer, of_the_second));
    authenticate(&mut peer, &second);
    for request in of_the_first {
        assert!(!is_permitted(&mut peer, request), "{request}");
    }
    assert!(is_permitted(&mut peer, of_the_second));
    // A wrong one replaces nothing.
    let wrong = format!("{}{}", &second[..second.len() - 4], "AAAA");
    assert_eq!(peer.code(&auth(&wrong)), "forbidden");
    assert!(is_permitted(&mut peer, of_the_second));
}

#[test]
fn prefixes_end_with_a_star() {
    let (server, [token]) = Server::with([(&["schedule"], &["mail*", "pay"])]);
    let mut peer = server.peer_with(&token);
    for (route, is_allowed) in [
        ("mail", true),
        ("mail-1", true),
        ("mai", false),
        ("pay", true),
    ] {
        let request = schedule(route, "1", later());
        assert_eq!(is_permitted(&mut peer, &request), is_allowed, "{route}");
    }
    assert!(!is_permitted(&mut peer, &schedule("pay1", "1", later())));
}

#[test]
fn refusal_does_not_tell_whether_a_task_exists() {
    let (server, [all, other]) = Server::with([ALL, (&["schedule", "admin"], &["pay"])]);
    server.peer_with(&all).plan("mail", "there", later());
    let mut peer = server.peer_with(&other);
    let mut refused = |request: &str| {
        peer.send(request);
        peer.line().unwrap()
    };
    for request in [
        r#"{"kind":"cancel","route_key":"mail","id":"there"}"#,
        r#"{"kind":"kick","route_key":"mail","id":"there"}"#,
        r#"{"kind":"schedule","route_key":"mail","id":"there","fire_at":1}"#,
    ] {
        let of_a_task = refused(request);
        let of_none = refused(&request.replace("there", "never"));
        assert!(of_a_task.contains(r#""code":"forbidden""#), "{of_a_task}");
        assert_eq!(of_a_task.replace("there", "never"), of_none);
    }
    assert_eq!(server.peer_with(&all).stats("mail")["waiting"], 1);
}

#[test]
fn stats_show_permitted_routes_only() {
    let (server, [all, mail, none]) =
        Server::with([ALL, (&["admin"], &["mail*"]), (&["schedule"], &["*"])]);
    let mut operator = server.peer_with(&all);
    for (route, id) in [("mail1", "1"), ("mail2", "1"), ("pay", "1"), ("pay", "2")] {
        operator.plan(route, id, later());
    }
    let consumer = server.peer_with(&all);
    operator.register("pay");
    operator.due("pay", "3");
    operator.delivery();
    let routes = |stats: &Value| {
        let rows = stats["routes"].as_array().unwrap().iter();
        let names = rows.map(|row| row["route_key"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let stats = operator.all_stats();
    assert_eq!(routes(&stats), ["mail1", "mail2", "pay"], "{stats}");
    assert_eq!(stats["waiting"], 5);
    assert_eq!(stats["in_flight"], 1);
    let mut some = server.peer_with(&mail);
    let stats = some.all_stats();
    assert_eq!(routes(&stats), ["mail1", "mail2"], "{stats}");
    assert_eq!(stats["waiting"], 2);
    assert_eq!(stats["in_flight"], 0);
    assert_eq!(stats["more"], false);
    let stats = some.ask(r#"{"kind":"stats","after":"mail1"}"#);
    assert_eq!(routes(&stats), ["mail2"], "{stats}");
    assert_eq!(
        server.peer_with(&none).code(r#"{"kind":"stats"}"#),
        "forbidden"
    );
    drop(consumer);
}

#[test]
fn schedule_without_a_route_needs_rights_on_such_routes() {
    let (server, [own, mail]) = Server::with([
        (&["schedule", "consume"], &["conn-*"]),
        (&["schedule", "consume"], &["mail"]),
    ]);
    let without = r#"{"kind":"schedule","id":"1","fire_at":1}"#;
    let mut peer = server.peer_with(&own);
    assert_eq!(peer.ask(without)["kind"], "ack");
    assert_eq!(peer.delivery()["id"], "1");
    let error = server.peer_with(&mail).ask(without);
    assert_eq!(error["code"], "forbidden");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("give a route_key"), "{message}");
}

#[test]
fn route_of_another_token_of_the_connection_is_not_scheduled_on() {
    let (server, [own, mail]) = Server::with([
        (&["schedule", "consume"], &["conn-*"]),
        (&["consume"], &["mail"]),
    ]);
    let mut peer = server.peer();
    let register = with_token(r#"{"kind":"register","route_key":"mail"}"#, &mail);
    assert_eq!(peer.ask(&register)["kind"], "registered");
    authenticate(&mut peer, &own);
    // The only registered route is "mail", on which this token may not schedule.
    let error = peer.ask(r#"{"kind":"schedule","id":"1","fire_at":1}"#);
    assert_eq!(error["code"], "forbidden", "{error}");
    assert_eq!(error.get("route_key"), None, "{error}");
}
