use super::*;
use crate::protocol::{Code, Counts, RouteStats};

fn line(reply: &Reply, tag: Option<&str>) -> String {
    let mut out = Vec::new();
    reply.encode(tag, &mut out);
    let text = String::from_utf8(out).unwrap();
    text.strip_suffix('\n').unwrap().to_owned()
}

#[test]
fn replies_match_the_protocol() {
    let (id, route) = (Arc::<str>::from("order-17"), Arc::<str>::from("service-A"));
    let written = [
        (
            Reply::Hello(Version::V2),
            concat!(
                r#"{"kind":"hello","protocol":2,"server":"hyper-delay "#,
                env!("CARGO_PKG_VERSION"),
                r#""}"#
            ),
        ),
        (
            Reply::Registered {
                route: route.clone(),
                credit: 256,
            },
            r#"{"kind":"registered","route_key":"service-A","credit":256}"#,
        ),
        (
            Reply::Unregistered {
                route: route.clone(),
                reason: Reason::Replaced,
            },
            r#"{"kind":"unregistered","route_key":"service-A","reason":"replaced"}"#,
        ),
        (
            Reply::Unregistered {
                route: route.clone(),
                reason: Reason::Asked,
            },
            r#"{"kind":"unregistered","route_key":"service-A","reason":"asked"}"#,
        ),
        (
            Reply::Scheduled {
                id: id.clone(),
                route: route.clone(),
                fire_at: 1_732_616_400_000,
            },
            r#"{"kind":"ack","id":"order-17","route_key":"service-A","fire_at":1732616400000}"#,
        ),
        (
            Reply::Acked {
                id: id.clone(),
                route: Some(route.clone()),
                removed: true,
            },
            r#"{"kind":"acked","id":"order-17","route_key":"service-A","removed":true}"#,
        ),
        (
            Reply::Acked {
                id: id.clone(),
                route: None,
                removed: false,
            },
            r#"{"kind":"acked","id":"order-17","removed":false}"#,
        ),
        (
            Reply::Cancelled {
                id: id.clone(),
                route: route.clone(),
                found: true,
                in_flight: false,
            },
            r#"{"kind":"cancelled","id":"order-17","route_key":"service-A","found":true,"in_flight":false}"#,
        ),
        (Reply::Pong, r#"{"kind":"pong"}"#),
        (
            Reply::Kicked {
                id,
                route,
                found: true,
            },
            r#"{"kind":"kicked","id":"order-17","route_key":"service-A","found":true}"#,
        ),
    ];
    for (reply, text) in written {
        assert_eq!(line(&reply, None), text);
    }
}

#[test]
fn stats_have_sums_and_routes() {
    let counts = Counts {
        waiting: 1,
        parked: 2,
        in_flight: 3,
        dead: 4,
    };
    let route = |name: &str, orphaned| RouteStats {
        route: name.into(),
        counts,
        consumers: 5,
        orphaned,
    };
    let stats = Stats {
        counts,
        connections: 6,
        unknown_acks: 7,
        orphaned: 8,
        routes: vec![route("a", false), route("b", true)],
        more: true,
    };
    let counts = r#""waiting":1,"parked":2,"in_flight":3,"dead":4"#;
    let routes = format!(
        r#"[{{"route_key":"a",{counts},"consumers":5}},{{"route_key":"b",{counts},"consumers":5,"orphaned":true}}]"#
    );
    assert_eq!(
        line(&Reply::Stats(Box::new(stats)), None),
        format!(
            r#"{{"kind":"stats",{counts},"connections":6,"unknown_acks":7,"orphaned":8,"routes":{routes},"more":true}}"#
        )
    );
}

#[test]
fn dead_letters_are_a_list() {
    let task = DeadTask {
        id: "x".into(),
        fire_at: 1,
        attempt: 3,
        died_at: 2,
        ..DeadTask::default()
    };
    let unreadable = DeadTask {
        reason: Some("m".into()),
        orphaned: true,
        ..task.clone()
    };
    let dead = Reply::Dead {
        route: "r".into(),
        tasks: vec![task, unreadable],
        more: false,
    };
    assert_eq!(
        line(&dead, None),
        r#"{"kind":"dead","route_key":"r","tasks":[{"id":"x","fire_at":1,"attempt":3,"died_at":2},{"id":"x","fire_at":1,"attempt":3,"died_at":2,"reason":"m","orphaned":true}],"more":false}"#
    );
    let none = Reply::Dead {
        route: "r".into(),
        tasks: vec![],
        more: false,
    };
    assert_eq!(
        line(&none, None),
        r#"{"kind":"dead","route_key":"r","tasks":[],"more":false}"#
    );
}

#[test]
fn a_reply_carries_the_tag_of_its_request() {
    assert_eq!(
        line(&Reply::Pong, Some("a\"b")),
        r#"{"kind":"pong","tag":"a\"b"}"#
    );
    assert_eq!(line(&Reply::Pong, Some("")), r#"{"kind":"pong","tag":""}"#);
}

#[test]
fn an_error_has_the_names_that_could_be_read() {
    let bare = Refusal::new(Code::BadJson, "no\nJSON");
    let text = r#"{"kind":"error","code":"bad_json","message":"no\nJSON"}"#;
    assert_eq!(line(&Reply::Error(bare.clone()), None), text);
    let named = Refusal {
        code: Code::DuplicateId,
        message: "m".into(),
        id: Some("i".into()),
        route: Some("r".into()),
        tag: Some("own".into()),
        line: None,
    };
    let text = r#"{"kind":"error","code":"duplicate_id","message":"m","id":"i","route_key":"r","tag":"own"}"#;
    assert_eq!(line(&Reply::Error(named.clone()), None), text);
    let given = text.replace("own", "given");
    assert_eq!(line(&Reply::Error(named), Some("given")), given);
    let text = r#"{"kind":"error","code":"bad_json","message":"no\nJSON","line":3}"#;
    assert_eq!(line(&Reply::Error(bare.clone().at_line(3)), None), text);
    assert_eq!(bare.to_string(), "bad_json: no\nJSON");
}
