//! The numbers of the page as JSON.

use serde_json::{Value, json};

use super::{Gauges, Metrics, gauges::RouteGauges};

/// Returns the numbers of the whole server, and of the routes that are seen.
pub(crate) fn summary(metrics: &Metrics, gauges: &Gauges, sees: impl Fn(&str) -> bool) -> Value {
    let mut all = gauges.other;
    for (_, row) in &gauges.routes {
        all.add(*row);
    }
    let rows = gauges.routes.iter().filter(|(route, _)| sees(route));
    let rows = rows.map(|(route, row)| {
        let mut fields = fields(row);
        fields["route_key"] = json!(**route);
        fields["paused"] = json!(row.is_paused);
        fields
    });
    let lateness = metrics.lateness.buckets();
    json!({
        "all": fields(&all),
        "due_within_minute_exact": gauges.is_due_soon_exact,
        "oldest_overdue_ms": gauges.oldest_overdue,
        "connections": gauges.connections,
        "store_bytes": gauges.store_bytes,
        "lateness": lateness
            .into_iter()
            .map(|(bound, count)| json!({
                "up_to_ms": bound.is_finite().then_some(bound * 1e3),
                "rounds": count,
            }))
            .collect::<Value>(),
        "routes": rows.collect::<Value>(),
        "other": fields(&gauges.other),
    })
}

fn fields(row: &RouteGauges) -> Value {
    json!({
        "waiting": row.pending.saturating_sub(row.in_flight),
        "due_within_minute": row.due_soon,
        "ready": row.ready,
        "in_flight": row.in_flight,
        "dead": row.dead,
        "consumers": row.consumers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_of_all_routes_and_rows_of_those_that_are_seen() {
        let row = RouteGauges {
            pending: 10,
            due_soon: 4,
            ready: 3,
            in_flight: 2,
            dead: 5,
            consumers: 1,
            is_paused: true,
        };
        let gauges = Gauges {
            routes: vec![("a".into(), row), ("b".into(), row)],
            other: row,
            ..Gauges::default()
        };
        let metrics = Metrics::default();
        metrics.lateness.observe(150);
        let summary = summary(&metrics, &gauges, |route| route == "b");
        let sums = json!({
            "waiting": 24, "due_within_minute": 12, "ready": 9, "in_flight": 6, "dead": 15,
            "consumers": 3,
        });
        assert_eq!(summary["all"], sums);
        assert_eq!(summary["routes"].as_array().unwrap().len(), 1);
        assert_eq!(summary["routes"][0]["route_key"], "b");
        assert_eq!(summary["routes"][0]["waiting"], 8);
        assert_eq!(summary["routes"][0]["paused"], true);
        assert_eq!(summary["other"]["in_flight"], 2);
        let lateness = summary["lateness"].as_array().unwrap();
        assert_eq!(lateness[1], json!({"up_to_ms": 0.2, "rounds": 1}));
        assert_eq!(lateness.last().unwrap()["up_to_ms"], Value::Null);
    }
}
