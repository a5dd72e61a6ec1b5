//! Log events of a task, with the trace context of its producer.

use tracing::{Level, enabled, trace};

use crate::Headers;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::trace_context";

/// The header of the W3C's trace context.
const HEADER: &str = "traceparent";

/// Logs, at the level `trace`, what happened to a task, with its trace context.
pub fn log(event: &'static str, route: &str, id: &str, headers: &str) {
    if !enabled!(target: TARGET, Level::TRACE) {
        return;
    }
    let traceparent = Headers::find(headers, HEADER);
    trace!(target: TARGET, event, route, id, traceparent, "a task");
}
