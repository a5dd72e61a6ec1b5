use super::*;
use crate::{
    Code, Compression, Content, Counts, FailureKind, Headers, LastFailure, RouteStats, Spans,
    TaskState, Terms,
};

mod operator_requests;

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
            Reply::Backup {
                offset: 12,
                data: (*b"hello").into(),
                more: true,
            },
            r#"{"kind":"backup","offset":12,"data_base64":"aGVsbG8=","more":true}"#,
        ),
        (
            Reply::Hello {
                version: Version::V2,
                strict: false,
            },
            concat!(
                r#"{"kind":"hello","protocol":2,"server":"hyper-delay "#,
                env!("CARGO_PKG_VERSION"),
                r#""}"#
            ),
        ),
        (
            Reply::Hello {
                version: Version::V1,
                strict: true,
            },
            concat!(
                r#"{"kind":"hello","protocol":1,"server":"hyper-delay "#,
                env!("CARGO_PKG_VERSION"),
                r#"","strict":true}"#
            ),
        ),
        (
            Reply::Authenticated {
                name: Some("billing".into()),
            },
            r#"{"kind":"authenticated","name":"billing"}"#,
        ),
        (
            Reply::Authenticated { name: None },
            r#"{"kind":"authenticated"}"#,
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
        (
            Reply::Moved {
                id: id.clone(),
                route: route.clone(),
                found: true,
                due: Some(1_732_616_400_000),
            },
            r#"{"kind":"moved","id":"order-17","route_key":"service-A","found":true,"moved":true,"due":1732616400000}"#,
        ),
        (
            Reply::Moved {
                id: id.clone(),
                route: route.clone(),
                found: true,
                due: None,
            },
            r#"{"kind":"moved","id":"order-17","route_key":"service-A","found":true,"moved":false}"#,
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
        retrying: 2,
    };
    let route = |name: &str, orphaned| RouteStats {
        route: name.into(),
        counts,
        consumers: 5,
        orphaned,
        paused: false,
    };
    let stats = Stats {
        counts,
        connections: 6,
        unknown_acks: 7,
        orphaned: 8,
        routes: vec![route("a", false), route("b", true)],
        more: true,
    };
    let counts = r#""waiting":1,"parked":2,"in_flight":3,"dead":4,"retrying":2"#;
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
        next: None,
    };
    assert_eq!(
        line(&dead, None),
        r#"{"kind":"dead","route_key":"r","tasks":[{"id":"x","fire_at":1,"attempt":3,"died_at":2},{"id":"x","fire_at":1,"attempt":3,"died_at":2,"reason":"m","orphaned":true}],"more":false}"#
    );
    let none = Reply::Dead {
        route: "r".into(),
        tasks: vec![],
        more: true,
        next: Some("y".into()),
    };
    assert_eq!(
        line(&none, None),
        r#"{"kind":"dead","route_key":"r","tasks":[],"more":true,"next":"y"}"#
    );
}

fn seen(state: TaskState, content: Option<Content>) -> TaskView {
    TaskView {
        route: "r".into(),
        id: "x".into(),
        state,
        fire_at: 1,
        at: 2,
        attempt: 3,
        reason: (state == TaskState::Dead).then(|| "m".into()),
        last_failure: None,
        terms: None,
        content,
    }
}

#[test]
fn a_task_has_its_state_and_its_content() {
    let content = Content {
        compression: Compression::Lz4,
        length: 5,
        payload: Some(Box::from(*b"hello")),
        headers: Headers::default(),
    };
    let task = |task| Reply::Task {
        route: "r".into(),
        id: "x".into(),
        task,
    };
    let found = task(Some(Box::new(seen(
        TaskState::InFlight,
        Some(content.clone()),
    ))));
    assert_eq!(
        line(&found, None),
        r#"{"kind":"task","id":"x","route_key":"r","state":"in_flight","fire_at":1,"due":2,"attempt":3,"compression":"lz4","payload_base64":"aGVsbG8=","found":true}"#
    );
    let failure = LastFailure {
        at: 8,
        kind: FailureKind::Nack,
        reason: Some("no \"disk\"".into()),
    };
    let failed = TaskView {
        last_failure: Some(Box::new(failure.clone())),
        ..seen(TaskState::Parked, None)
    };
    let text = r#""last_failure":{"at":8,"kind":"nack","reason":"no \"disk\""}"#;
    assert_eq!(failure.length(), text.len() + 1, "with a comma");
    assert_eq!(
        line(&task(Some(Box::new(failed))), None),
        format!(
            r#"{{"kind":"task","id":"x","route_key":"r","state":"parked","fire_at":1,"due":2,"attempt":3,{text},"found":true}}"#
        )
    );
    let with_terms = TaskView {
        terms: Some(Box::new(Terms {
            expires_at: Some(9),
            ack_timeout_ms: Some(8),
            max_attempts: Some(7),
            retry_delay_ms: Some(6),
            max_retry_delay_ms: Some(6),
        })),
        ..seen(
            TaskState::Waiting,
            Some(Content {
                headers: Headers::of_text(r#"{"a":"b"}"#),
                ..content.clone()
            }),
        )
    };
    assert_eq!(
        line(&task(Some(Box::new(with_terms))), None),
        r#"{"kind":"task","id":"x","route_key":"r","state":"waiting","fire_at":1,"due":2,"attempt":3,"expires_at":9,"ack_timeout_ms":8,"max_attempts":7,"retry_delay_ms":6,"max_retry_delay_ms":6,"compression":"lz4","headers":{"a":"b"},"payload_base64":"aGVsbG8=","found":true}"#
    );
    assert_eq!(
        line(&task(None), None),
        r#"{"kind":"task","id":"x","route_key":"r","found":false}"#
    );
    let too_long = Content {
        payload: None,
        ..content.clone()
    };
    let list = Reply::List {
        tasks: vec![
            seen(TaskState::Dead, None),
            seen(TaskState::Parked, Some(too_long)),
        ],
        next: Some("c".into()),
    };
    let text = r#"{"kind":"list","tasks":[{"id":"x","route_key":"r","state":"dead","fire_at":1,"died_at":2,"attempt":3,"reason":"m"},{"id":"x","route_key":"r","state":"parked","fire_at":1,"due":2,"attempt":3,"compression":"lz4","payload_bytes":5}],"more":true,"next":"c"}"#;
    assert_eq!(line(&list, None), text);
    let list = Reply::List {
        tasks: vec![],
        next: None,
    };
    assert_eq!(
        line(&list, None),
        r#"{"kind":"list","tasks":[],"more":false}"#
    );
    // The length is that of the object.
    let task = seen(TaskState::Dead, Some(content));
    let list = |tasks| Reply::List { tasks, next: None };
    let empty = line(&list(vec![]), None).len();
    assert_eq!(
        line(&list(vec![task.clone()]), None).len(),
        empty + task.length()
    );
}

#[test]
fn the_future_has_counts_by_span() {
    let spans = |from| Spans {
        from,
        tasks: vec![from, 0],
    };
    let future = DueCounts {
        minutes: spans(1),
        hours: spans(2),
        days: spans(3),
        counted_until: Some(4),
    };
    assert_eq!(
        line(&Reply::Future(Box::new(future)), None),
        r#"{"kind":"future","minute":1,"minutes":[1,0],"hour":2,"hours":[2,0],"day":3,"days":[3,0],"counted_until":4}"#
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
