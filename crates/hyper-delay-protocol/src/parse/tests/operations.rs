//! Requests of operators.

use super::*;
use crate::TaskState;

#[test]
fn requests_of_operators_are_parsed() {
    let (id, route) = (Arc::<str>::from("x"), Arc::<str>::from("r"));
    let after = Some(Arc::<str>::from("a"));
    let list = ListRequest {
        route: None,
        state: None,
        filter: Filter::default(),
        after: None,
        limit: 100,
        payload: false,
    };
    let requests: [(&str, Request); 16] = [
        (
            r#""get","route_key":"r","id":"x","payload":true"#,
            ReadRequest::Get {
                route: route.clone(),
                id,
                payload: true,
            }
            .into(),
        ),
        (r#""future""#, ReadRequest::Future.into()),
        (r#""jobs""#, ReadRequest::Jobs.into()),
        (r#""stop","job":7"#, AdminRequest::Stop { job: 7 }.into()),
        (
            r#""pause","route_key":"r""#,
            AdminRequest::Pause {
                route: route.clone(),
            }
            .into(),
        ),
        (
            r#""resume","route_key":"r""#,
            AdminRequest::Resume {
                route: route.clone(),
            }
            .into(),
        ),
        (
            r#""audit","before":7,"limit":8"#,
            ReadRequest::Audit {
                before: Some(7),
                limit: 8,
            }
            .into(),
        ),
        (
            r#""reasons","route_key":"r","after":"a""#,
            ReadRequest::Reasons {
                route: Some(route.clone()),
                state: TaskState::Dead,
                after: after.clone(),
            }
            .into(),
        ),
        (
            r#""reasons","state":"retrying""#,
            ReadRequest::Reasons {
                route: None,
                state: TaskState::Retrying,
                after: None,
            }
            .into(),
        ),
        (
            r#""delete_all","route_key":"r","reason":"m","dry_run":true,"in_flight":true"#,
            ReadRequest::Count(Box::new(BulkRequest {
                act: BulkAct::Delete,
                route: route.clone(),
                filter: Filter {
                    reason: Some("m".into()),
                    ..Filter::default()
                },
                in_flight: false,
            }))
            .into(),
        ),
        (
            r#""purge","route_key":"r","reason":"m","in_flight":true"#,
            AdminRequest::Bulk(Box::new(BulkRequest {
                act: BulkAct::Purge,
                route: route.clone(),
                filter: Filter::default(),
                in_flight: true,
            }))
            .into(),
        ),
        (
            r#""run_now_all","route_key":"r","state":"retrying","reason":"m","from":5,"in_flight":true"#,
            AdminRequest::Bulk(Box::new(BulkRequest {
                act: BulkAct::Move(BulkMove {
                    to: BulkMoveTo::Now,
                    state: Some(TaskState::Retrying),
                }),
                route: route.clone(),
                filter: Filter {
                    reason: Some("m".into()),
                    from: Some(5),
                    until: None,
                },
                in_flight: false,
            }))
            .into(),
        ),
        (
            r#""reschedule_all","route_key":"r","due":"2024-11-26T10:20:00Z","dry_run":true"#,
            ReadRequest::Count(moves(BulkMoveTo::At(1_732_616_400_000))).into(),
        ),
        (
            r#""reschedule_all","route_key":"r","shift_ms":7"#,
            AdminRequest::Bulk(moves(BulkMoveTo::Later(7))).into(),
        ),
        (
            r#""list""#,
            ReadRequest::List(Box::new(list.clone())).into(),
        ),
        (
            r#""list","route_key":"r","state":"dead","until":6,"after":"a","limit":1,"payload":true"#,
            ReadRequest::List(Box::new(ListRequest {
                route: Some(route),
                state: Some(TaskState::Dead),
                filter: Filter {
                    until: Some(6),
                    ..Filter::default()
                },
                after,
                limit: 1,
                payload: true,
            }))
            .into(),
        ),
    ];
    for (line, request) in requests {
        assert_eq!(request_of(&format!("{{\"kind\":{line}}}")), request);
    }
}

fn moves(to: BulkMoveTo) -> Box<BulkRequest> {
    Box::new(BulkRequest {
        act: BulkAct::Move(BulkMove { to, state: None }),
        route: "r".into(),
        filter: Filter::default(),
        in_flight: false,
    })
}

#[test]
fn a_bulk_move_has_one_new_time_and_a_state_that_can_move() {
    let of = |fields: &str| {
        refusal_of(format!(
            r#"{{"kind":"reschedule_all","route_key":"r"{fields}}}"#
        ))
    };
    let refusal = of("");
    assert_eq!(refusal.code, Code::MissingField);
    assert!(refusal.message.contains("give one of them"), "{refusal}");
    let refusal = of(r#","due":5,"shift_ms":6"#);
    assert_eq!(refusal.code, Code::BadField);
    assert!(
        refusal.message.contains("give either due or shift_ms"),
        "{refusal}"
    );
    let start = r#""kind":"reschedule_all","route_key":"r""#;
    refused_values(
        start,
        "shift_ms",
        &["0", "-1", "1.5", "\"1\""],
        "give milliseconds from 1 to 2^53, as a whole number",
    );
    refused_values(
        start,
        "due",
        &["1732616400"],
        "this looks like Unix seconds; multiply it by 1000 to give Unix milliseconds",
    );
    for kind in ["run_now_all", "reschedule_all"] {
        let start = format!(r#""kind":"{kind}","route_key":"r","due":5"#);
        let states = ["\"dead\"", "\"in_flight\"", "\"all\""];
        refused_values(
            &start,
            "state",
            &states,
            "give \"waiting\" or \"parked\" or \"retrying\"",
        );
    }
}

#[test]
fn a_range_of_time_may_be_in_rfc_3339() {
    for start in [
        r#""kind":"list""#,
        r#""kind":"dead","route_key":"r""#,
        r#""kind":"delete_all","route_key":"r""#,
    ] {
        let texts = r#""from":"2024-11-26T10:20:00Z","until":"2024-11-26T11:20:00.0001+01:00""#;
        let millis = r#""from":"1732616400000","until":1732616400001"#;
        assert_eq!(
            request_of(&format!("{{{start},{texts}}}")),
            request_of(&format!("{{{start},{millis}}}"))
        );
        refused_values(
            start,
            "until",
            &["\"2024-11-26T10:20:00\""],
            "give its offset from UTC, too: Z, or one such as +01:00",
        );
    }
}

#[test]
fn a_range_of_time_must_not_be_empty() {
    for line in [
        r#"{"kind":"list","from":5,"until":5}"#,
        r#"{"kind":"dead","route_key":"r","from":5,"until":4}"#,
        r#"{"kind":"kick_all","route_key":"r","from":5,"until":4}"#,
    ] {
        let refusal = refusal_of(line);
        assert_eq!(refusal.code, Code::BadField, "{line}");
        let message = refusal.message;
        assert!(
            message.ends_with("give a time after from, which is 5"),
            "{message}"
        );
    }
    let reason = "x".repeat(1_025);
    let refusal = refusal_of(format!(
        r#"{{"kind":"kick_all","route_key":"r","reason":"{reason}"}}"#
    ));
    assert!(
        refusal
            .message
            .ends_with("give a string of at most 1024 bytes"),
        "{refusal}"
    );
}
