//! The numbers of the page as JSON.

use serde_json::{Value, json};

use super::{Gauges, Metrics, gauges::RouteGauges};

/// Returns the numbers of the routes that are seen, and with `sees_all` those of the whole server.
pub fn summary(
    metrics: &Metrics,
    gauges: &Gauges,
    sees: impl Fn(&str) -> bool,
    sees_all: bool,
) -> Value {
    let other = match sees_all {
        true => gauges.other,
        false => RouteGauges::default(),
    };
    let rows = gauges.routes.iter();
    let rows: Vec<_> = rows.filter(|(route, _)| sees_all || sees(route)).collect();
    let mut all = other;
    for (_, row) in &rows {
        all.add(*row);
    }
    let rows = rows.into_iter().map(|(route, row)| {
        let mut fields = fields(row);
        fields["route_key"] = json!(**route);
        fields["oldest_overdue_ms"] = json!(row.oldest_overdue);
        fields["paused"] = json!(row.is_paused);
        fields
    });
    let lateness = sees_all.then(|| metrics.lateness.buckets());
    json!({
        "all": fields(&all),
        "due_within_minute_exact": gauges.is_due_soon_exact,
        "oldest_overdue_ms": sees_all.then_some(gauges.oldest_overdue),
        "connections": gauges.connections,
        "store_bytes": sees_all.then_some(gauges.store_bytes),
        "lateness": lateness
            .into_iter()
            .flatten()
            .map(|(bound, count)| json!({
                "up_to_ms": bound.is_finite().then_some(bound * 1e3),
                "rounds": count,
            }))
            .collect::<Value>(),
        "routes": rows.collect::<Value>(),
        "other": fields(&other),
    })
}

fn fields(row: &RouteGauges) -> Value {
    json!({
        "waiting": row.pending.saturating_sub(row.in_flight),
        "due_within_minute": row.due_soon,
        "ready": row.ready,
        "in_flight": row.in_flight,
        "dead": row.dead,
        "retrying": row.retrying,
        "consumers": row.consumers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: RouteGauges = RouteGauges {
        pending: 10,
        due_soon: 4,
        ready: 3,
        in_flight: 2,
        dead: 5,
        retrying: 4,
        consumers: 1,
        oldest_overdue: 6,
        is_paused: true,
    };

    fn gauges() -> Gauges {
        Gauges {
            routes: vec![("a".into(), ROW), ("b".into(), ROW)],
            other: ROW,
            oldest_overdue: 7,
            store_bytes: 8,
            ..Gauges::default()
        }
    }

    #[test]
    fn numbers_are_of_the_routes_that_are_seen() {
        let metrics = Metrics::default();
        metrics.lateness.observe(150);
        let summary = summary(&metrics, &gauges(), |route| route == "b", false);
        let sums = json!({
            "waiting": 8, "due_within_minute": 4, "ready": 3, "in_flight": 2, "dead": 5, "retrying": 4,
            "consumers": 1,
        });
        assert_eq!(summary["all"], sums);
        assert_eq!(summary["routes"].as_array().unwrap().len(), 1);
        assert_eq!(summary["routes"][0]["route_key"], "b");
        assert_eq!(summary["routes"][0]["waiting"], 8);
        assert_eq!(summary["routes"][0]["paused"], true);
        assert_eq!(summary["other"]["in_flight"], 0);
        assert_eq!(summary["oldest_overdue_ms"], Value::Null);
        assert_eq!(summary["store_bytes"], Value::Null);
        assert_eq!(summary["lateness"], json!([]));
    }

    #[test]
    fn numbers_are_of_all_routes_for_one_who_sees_all() {
        let metrics = Metrics::default();
        metrics.lateness.observe(150);
        let summary = summary(&metrics, &gauges(), |_| true, true);
        let sums = json!({
            "waiting": 24, "due_within_minute": 12, "ready": 9, "in_flight": 6, "dead": 15, "retrying": 12,
            "consumers": 3,
        });
        assert_eq!(summary["all"], sums);
        assert_eq!(summary["routes"].as_array().unwrap().len(), 2);
        assert_eq!(summary["other"]["in_flight"], 2);
        assert_eq!(summary["oldest_overdue_ms"], 7);
        assert_eq!(summary["store_bytes"], 8);
        let lateness = summary["lateness"].as_array().unwrap();
        assert_eq!(lateness[1], json!({"up_to_ms": 0.2, "rounds": 1}));
        assert_eq!(lateness.last().unwrap()["up_to_ms"], Value::Null);
    }
}
