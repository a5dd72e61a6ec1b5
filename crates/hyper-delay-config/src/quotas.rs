//! Quotas of routes: the field `quotas`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{
    error::did_you_mean,
    json_object::{closest_name, number},
    route_patterns,
};

/// The quotas of a route. `None`: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Quota {
    /// The most tasks that are pending: waiting or parked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<u64>,
    /// The most bytes of the payloads of pending tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_bytes: Option<u64>,
    /// The most schedules per second, over one second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedules_per_second: Option<u32>,
    /// The most deliveries per second, over one second. Others wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliveries_per_second: Option<u32>,
}

/// Returns a quota of a route, and the key that has it: the key that equals the route, or else its
/// longest prefix. Keys that do not have this quota do not count.
pub(super) fn find<'a, T>(
    quotas: &'a BTreeMap<String, Quota>,
    route: &str,
    quota: impl Fn(&Quota) -> Option<T>,
) -> Option<(&'a str, T)> {
    route_patterns::matching(quotas, route).find_map(|(key, row)| Some((key, quota(row)?)))
}

/// Reads the field `quotas`. The error is the cure.
pub(super) fn read(value: &Value) -> Result<BTreeMap<String, Quota>, String> {
    route_patterns::read(
        value,
        "give an object of routes or prefixes with their quotas",
        quota,
    )
}

fn quota(value: &Value) -> Result<Quota, String> {
    const NAMES: [&str; 4] = [
        "pending",
        "pending_bytes",
        "schedules_per_second",
        "deliveries_per_second",
    ];
    let wanted = || format!("give an object with {}", NAMES.join(", "));
    let object = value.as_object().ok_or_else(wanted)?;
    if let Some(unknown) = object.keys().find(|name| !NAMES.contains(&name.as_str())) {
        let question = did_you_mean(closest_name(unknown, &NAMES));
        return Err(format!("{unknown:?} is no quota: {question}{}", wanted()));
    }
    let rate = |name: &str| match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => number(value, &format!("{name} as a number"), 1..=1_000_000).map(Some),
    };
    let size = |name: &str| match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => number(value, &format!("{name} as a number"), 0..=1 << 53).map(Some),
    };
    Ok(Quota {
        pending: size("pending")?,
        pending_bytes: size("pending_bytes")?,
        schedules_per_second: rate("schedules_per_second")?,
        deliveries_per_second: rate("deliveries_per_second")?,
    })
}

#[cfg(test)]
mod tests {
    use crate::Config;

    fn read(quotas: &str) -> Result<Config, String> {
        let json = format!(r#"{{"quotas":{quotas}}}"#);
        Config::from_json("f", &json).map_err(|error| error.to_string())
    }

    #[test]
    fn longest_key_that_has_a_quota_gives_it() {
        let config = read(
            r#"{"*":{"pending":0,"schedules_per_second":9},
                "mail*":{"schedules_per_second":5},
                "mail-eu*":{"pending":7,"schedules_per_second":null},
                "mail":{"deliveries_per_second":1}}"#,
        )
        .unwrap();
        let quotas = |route| {
            (
                config.quota_of(route, |quota| quota.pending),
                config.quota_of(route, |quota| quota.schedules_per_second),
                config.quota_of(route, |quota| quota.deliveries_per_second),
            )
        };
        let every = Some(("*", 0));
        assert_eq!(quotas("pay"), (every, Some(("*", 9)), None));
        let schedules = Some(("mail*", 5));
        assert_eq!(quotas("mail-1"), (every, schedules, None));
        assert_eq!(
            quotas("mail-eu-1"),
            (Some(("mail-eu*", 7)), schedules, None)
        );
        assert_eq!(quotas("mail"), (every, schedules, Some(("mail", 1))));
        let none = read("{}").unwrap();
        assert_eq!(none.quota_of("mail", |quota| quota.pending), None);
        let again = Config::from_json("again", &config.to_string()).unwrap();
        assert_eq!(again, config);
    }

    #[test]
    fn bad_quotas_are_errors_that_name_the_value_and_the_cure() {
        for (quotas, part) in [
            ("5", "f: quotas is 5: give an object of routes"),
            (r#"{"":{}}"#, "give a route of 1 to 128 bytes"),
            (
                r#"{"a*b":{}}"#,
                "\"a*b\" in it has a * that is not its end: give a route, or the beginning",
            ),
            (r#"{"*a":{}}"#, "\"*a\" in it has a *"),
            (r#"{"a**":{}}"#, "\"a**\" in it has a *"),
            (
                r#"{"a":5}"#,
                "5 for \"a\" in it: give an object with pending",
            ),
            (
                r#"{"a":{"tasks":5}}"#,
                "\"tasks\" is no quota: give an object with pending",
            ),
            (
                r#"{"a":{"pendin":5}}"#,
                "\"pendin\" is no quota: did you mean pending? Else give an object",
            ),
            (
                r#"{"a":{"schedules_per_second":0}}"#,
                "give schedules_per_second as a number from 1 to 1000000",
            ),
            (r#"{"a":{"pending":-1}}"#, "give pending as a number from 0"),
            (
                r#"{"a":{"pending_bytes":"1"}}"#,
                "give pending_bytes as a number from 0",
            ),
        ] {
            let error = read(quotas).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
