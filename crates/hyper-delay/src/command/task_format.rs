//! Formats tasks for people.

use hyper_delay_client::{Content, LastFailure, TaskInfo, TaskState};

use super::{CommandError, output::print, time_format};

/// Tasks scheduled for a time before this one are meant to be due at once: no client means 1970.
pub(super) const AT_ONCE: u64 = 86_400_000;

/// Describes the last failure of a task.
pub(super) fn describe_failure(failure: &LastFailure) -> String {
    let at = time_format::format_rfc_3339(failure.at_millis);
    let reason = failure.reason.as_ref();
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    format!("; failed at {at}, {}{reason}", failure.kind)
}

/// Describes a task in one line.
pub(super) fn describe_task(task: &TaskInfo) -> String {
    let TaskInfo {
        id, route, attempt, ..
    } = task;
    let scheduled = time_format::format_rfc_3339(task.fire_at_millis);
    let due = time_format::format_rfc_3339(task.due_millis.unwrap_or_default());
    let mut text = match &task.state {
        TaskState::Waiting => format!("{id} on {route} waits until {due}"),
        TaskState::Parked => format!("{id} on {route} is parked since {due}"),
        TaskState::InFlight => format!("{id} on {route} is in flight, attempt {attempt}"),
        TaskState::Dead => {
            let died = time_format::format_rfc_3339(task.died_at_millis.unwrap_or_default());
            format!("{id} on {route} died at {died} after attempt {attempt}")
        }
        other => format!("{id} on {route} is {other}"),
    };
    let is_shown = matches!(task.state, TaskState::InFlight | TaskState::Dead);
    if *attempt > 0 && !is_shown {
        text += &format!(", after attempt {attempt}");
    }
    let is_at_once = task.fire_at_millis < AT_ONCE;
    if task.due_millis != Some(task.fire_at_millis) && !is_at_once {
        text += &format!("; scheduled for {scheduled}");
    }
    if let Some(at) = task.expires_at_millis {
        text += &format!("; expires at {}", time_format::format_rfc_3339(at));
    }
    for (term, millis) in [
        ("ack timeout", task.ack_timeout_millis),
        ("retry delay", task.retry_delay_millis),
        ("max retry delay", task.max_retry_delay_millis),
    ] {
        if let Some(millis) = millis {
            text += &format!("; {term} {}", time_format::format_duration(millis));
        }
    }
    if let Some(attempts) = task.max_attempts {
        text += &format!("; max attempts {attempts}");
    }
    if let Some(reason) = &task.reason {
        text += &format!("; reason: {reason}");
    }
    match &task.last_failure {
        // The reason of a dead letter is that of its last failure.
        Some(failure) if task.reason.is_none() => text += &describe_failure(failure),
        _ => {}
    }
    text
}

/// Prints the headers, one on each line, and the payload, if there is one: as text, or in base64 if
/// it is none.
pub(super) fn print_payload(content: &Content) -> Result<(), CommandError> {
    for (name, value) in &content.headers {
        print(&format!("  {name}: {value}"))?;
    }
    if let Some(length) = content.payload_bytes {
        return print(&format!(
            "  its payload of {length} bytes does not fit into a line"
        ));
    }
    let Some(payload) = content.payload() else {
        return Ok(());
    };
    let is_text = |text: &&str| !text.chars().any(char::is_control);
    match std::str::from_utf8(&payload).ok().filter(is_text) {
        Some(text) => print(&format!("  {text}")),
        None => {
            let base64 = content.payload_base64.as_deref().unwrap_or_default();
            print(&format!("  base64 {base64}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(json: &str) -> String {
        describe_task(&serde_json::from_str(json).expect("a task"))
    }

    #[test]
    fn a_line_names_the_state_and_the_times() {
        assert_eq!(
            line(r#"{"id":"a","route_key":"r","state":"waiting","fire_at":0,"due":0,"attempt":0}"#),
            "a on r waits until 1970-01-01T00:00:00.000Z"
        );
        assert_eq!(
            line(
                r#"{"id":"a","route_key":"r","state":"parked","fire_at":0,"due":1000,"attempt":2}"#
            ),
            "a on r is parked since 1970-01-01T00:00:01.000Z, after attempt 2"
        );
        assert_eq!(
            line(
                r#"{"id":"a","route_key":"r","state":"waiting","fire_at":0,"due":0,"attempt":0,"expires_at":1000}"#
            ),
            "a on r waits until 1970-01-01T00:00:00.000Z; expires at 1970-01-01T00:00:01.000Z"
        );
        assert_eq!(
            line(
                r#"{"id":"a","route_key":"r","state":"dead","fire_at":0,"died_at":1000,"attempt":2,"reason":"m"}"#
            ),
            "a on r died at 1970-01-01T00:00:01.000Z after attempt 2; reason: m"
        );
        assert_eq!(
            line(
                r#"{"id":"a","route_key":"r","state":"waiting","fire_at":1732616400000,"due":1732616403000,"attempt":1,"last_failure":{"at":1732616401000,"kind":"ack_timeout"}}"#
            ),
            "a on r waits until 2024-11-26T10:20:03.000Z, after attempt 1; scheduled for \
             2024-11-26T10:20:00.000Z; failed at 2024-11-26T10:20:01.000Z, ack timeout"
        );
        assert_eq!(
            line(
                r#"{"id":"a","route_key":"r","state":"in_flight","fire_at":0,"due":0,"attempt":2}"#
            ),
            "a on r is in flight, attempt 2"
        );
        assert_eq!(
            line(
                r#"{"id":"a","route_key":"r","state":"in_flight","fire_at":0,"due":0,"attempt":2,"ack_timeout_ms":90000,"max_attempts":3,"retry_delay_ms":50,"max_retry_delay_ms":3600000}"#
            ),
            "a on r is in flight, attempt 2; ack timeout 1m 30s; retry delay 50ms; max retry delay 1h; \
             max attempts 3"
        );
    }
}
