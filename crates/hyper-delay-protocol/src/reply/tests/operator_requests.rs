//! Replies to operators.

use super::*;
use crate::{BulkMove, BulkMoveTo, FailureKind, Filter, TaskState};

#[test]
fn replies_to_operators_have_their_fields() {
    let job = JobRow {
        job: 7,
        act: "kick_all",
        route: "r".into(),
        state: "running",
        changed: 2,
        filter: Filter {
            reason: Some("m".into()),
            from: None,
            until: Some(9),
        },
        task_move: None,
        began_at: 8,
        ended_at: None,
        by: None,
        address: Some("127.0.0.1:9".into()),
    };
    let text = r#"{"job":7,"act":"kick_all","route_key":"r","state":"running","changed":2,"reason":"m","until":9,"began_at":8,"address":"127.0.0.1:9"}"#;
    assert_eq!(job.length(), text.len());
    assert_eq!(
        line(&Reply::Job(Box::new(job.clone())), None),
        text.replacen('{', r#"{"kind":"job","#, 1)
    );
    let moved = JobRow {
        act: "reschedule_all",
        task_move: Some(BulkMove {
            to: BulkMoveTo::At(5),
            state: None,
        }),
        ..job.clone()
    };
    assert_eq!(
        line(&Reply::Job(Box::new(moved)), None),
        text.replacen('{', r#"{"kind":"job","#, 1)
            .replace("kick_all", "reschedule_all")
            .replace(r#""until":9"#, r#""until":9,"due":5"#)
    );
    assert_eq!(
        line(&Reply::Jobs(vec![job]), None),
        format!(r#"{{"kind":"jobs","jobs":[{text}]}}"#)
    );
    let audit = AuditRow {
        number: 3,
        at: 4,
        act: "kick".into(),
        route: "r".into(),
        id: Some("x".into()),
        job: None,
        tasks: None,
        filter: Filter::default(),
        task_move: None,
        in_flight: false,
        by: Some("ops".into()),
        address: None,
    };
    let text = r#"{"number":3,"at":4,"act":"kick","route_key":"r","id":"x","by":"ops"}"#;
    assert_eq!(audit.length(), text.len());
    let filtered = AuditRow {
        id: None,
        tasks: Some(2),
        filter: Filter {
            reason: Some("m".into()),
            from: Some(5),
            until: Some(9),
        },
        in_flight: true,
        by: None,
        ..audit.clone()
    };
    let more = r#"{"number":3,"at":4,"act":"kick","route_key":"r","tasks":2,"reason":"m","from":5,"until":9,"in_flight":true}"#;
    assert_eq!(filtered.length(), more.len());
    assert_eq!(
        line(
            &Reply::Audit {
                lines: vec![filtered],
                more: false
            },
            None
        ),
        format!(r#"{{"kind":"audit","lines":[{more}],"more":false}}"#)
    );
    let moved = AuditRow {
        act: "reschedule_all".into(),
        task_move: Some(BulkMove {
            to: BulkMoveTo::Later(7),
            state: Some(TaskState::Retrying),
        }),
        ..audit.clone()
    };
    let shifted = r#"{"number":3,"at":4,"act":"reschedule_all","route_key":"r","id":"x","task_state":"retrying","shift_ms":7,"by":"ops"}"#;
    assert_eq!(moved.length(), shifted.len());
    let lines = vec![moved];
    assert_eq!(
        line(&Reply::Audit { lines, more: false }, None),
        format!(r#"{{"kind":"audit","lines":[{shifted}],"more":false}}"#)
    );
    let lines = vec![audit];
    assert_eq!(
        line(&Reply::Audit { lines, more: true }, None),
        format!(r#"{{"kind":"audit","lines":[{text}],"more":true}}"#)
    );
    let reason = ReasonRow {
        route: "r".into(),
        reason: "".into(),
        failure: None,
        tasks: 5,
    };
    let retrying = ReasonRow {
        failure: Some(FailureKind::AckTimeout),
        ..reason.clone()
    };
    let text = r#"{"route_key":"r","reason":"","tasks":5}"#;
    assert_eq!(reason.length(), text.len());
    let text =
        format!(r#"{text},{{"route_key":"r","reason":"","failure":"ack_timeout","tasks":5}}"#);
    let reasons = vec![reason, retrying];
    assert_eq!(
        line(
            &Reply::Reasons {
                reasons,
                next: None
            },
            None
        ),
        format!(r#"{{"kind":"reasons","reasons":[{text}],"more":false}}"#)
    );
    let (id, route) = (Arc::<str>::from("x"), Arc::<str>::from("r"));
    for (reply, text) in [
        (
            Reply::Deleted {
                id,
                route: route.clone(),
                found: true,
            },
            r#"{"kind":"deleted","id":"x","route_key":"r","found":true}"#,
        ),
        (
            Reply::Count {
                route: route.clone(),
                tasks: 3,
                more: false,
            },
            r#"{"kind":"count","route_key":"r","tasks":3,"more":false}"#,
        ),
        (
            Reply::Stopped {
                job: 7,
                found: true,
            },
            r#"{"kind":"stopped","job":7,"found":true}"#,
        ),
        (
            Reply::Paused {
                route: route.clone(),
                changed: true,
            },
            r#"{"kind":"paused","route_key":"r","changed":true}"#,
        ),
        (
            Reply::Resumed {
                route,
                changed: false,
            },
            r#"{"kind":"resumed","route_key":"r","changed":false}"#,
        ),
    ] {
        assert_eq!(line(&reply, None), text);
    }
}
