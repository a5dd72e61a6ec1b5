//! Settings of single routes, which override those of the server: the field `routes`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    error::did_you_mean,
    json_object::{DAY_MS, closest_name, number},
    route_patterns,
};
use hyper_delay_protocol::Terms;

/// Reads the field `routes`. The error is the cure.
pub(super) fn read(value: &Value) -> Result<BTreeMap<String, Terms>, String> {
    route_patterns::read(
        value,
        "give an object of routes or prefixes with their settings",
        route_settings,
    )
}

fn route_settings(value: &Value) -> Result<Terms, String> {
    const NAMES: [&str; 4] = [
        "ack_timeout_ms",
        "max_attempts",
        "retry_delay_ms",
        "max_retry_delay_ms",
    ];
    let wanted = || format!("give an object with {}", NAMES.join(", "));
    let object = value.as_object().ok_or_else(wanted)?;
    if let Some(unknown) = object.keys().find(|name| !NAMES.contains(&name.as_str())) {
        let question = did_you_mean(closest_name(unknown, &NAMES));
        let wanted = wanted();
        return Err(format!(
            "{unknown:?} is no setting of a route: {question}{wanted}"
        ));
    }
    let given = |name: &str| object.get(name).filter(|value| !value.is_null());
    let millis = |name: &str| {
        let value = given(name);
        let what = format!("{name} as a number");
        value
            .map(|value| number(value, &what, 1..=DAY_MS))
            .transpose()
    };
    let attempts = given("max_attempts");
    let attempts =
        attempts.map(|value| number(value, "max_attempts as a number", 1..=u32::MAX.into()));
    let terms = Terms {
        expires_at: None,
        ack_timeout_ms: millis("ack_timeout_ms")?,
        max_attempts: attempts.transpose()?,
        retry_delay_ms: millis("retry_delay_ms")?,
        max_retry_delay_ms: millis("max_retry_delay_ms")?,
    };
    if let (Some(first), Some(longest)) = (terms.retry_delay_ms, terms.max_retry_delay_ms)
        && longest < first
    {
        return Err(format!(
            "give max_retry_delay_ms of at least retry_delay_ms, which is {first}"
        ));
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use crate::Config;
    use hyper_delay_protocol::Terms;

    fn read(routes: &str) -> Result<Config, String> {
        let json = format!(r#"{{"routes":{routes}}}"#);
        Config::from_json("f", &json).map_err(|error| error.to_string())
    }

    #[test]
    fn each_setting_of_a_route_is_that_of_the_longest_key_that_has_it() {
        let config = read(
            r#"{"*":{"max_attempts":1},"mail*":{"ack_timeout_ms":5,"max_attempts":null},"mail":{"retry_delay_ms":9}}"#,
        )
        .unwrap();
        let none = Terms::default();
        let once = Terms {
            max_attempts: Some(1),
            ..none
        };
        let short = Terms {
            ack_timeout_ms: Some(5),
            ..once
        };
        let slow = Terms {
            retry_delay_ms: Some(9),
            ..short
        };
        assert_eq!(config.terms_of("pay"), once);
        assert_eq!(config.terms_of("mail-1"), short);
        assert_eq!(config.terms_of("mail"), slow);
        assert_eq!(read("{}").unwrap().terms_of("mail"), none);
        let again = Config::from_json("again", &config.to_string()).unwrap();
        assert_eq!(again, config);
    }

    #[test]
    fn bad_settings_are_errors_that_name_the_value_and_the_cure() {
        for (routes, part) in [
            ("5", "f: routes is 5: give an object of routes"),
            (r#"{"":{}}"#, "give a route of 1 to 128 bytes"),
            (r#"{"a*b":{}}"#, "\"a*b\" in it has a * that is not its end"),
            (
                r#"{"a":5}"#,
                "5 for \"a\" in it: give an object with ack_timeout_ms",
            ),
            (
                r#"{"a":{"expires_at":5}}"#,
                "\"expires_at\" is no setting of a route: give an object with ack_timeout_ms",
            ),
            (
                r#"{"a":{"ack_timeout":5}}"#,
                "\"ack_timeout\" is no setting of a route: did you mean ack_timeout_ms? Else give",
            ),
            (
                r#"{"a":{"ack_timeout_ms":0}}"#,
                "give ack_timeout_ms as a number from 1 to 86400000",
            ),
            (
                r#"{"a":{"max_attempts":4294967296}}"#,
                "give max_attempts as a number from 1 to 4294967295",
            ),
            (
                r#"{"a":{"retry_delay_ms":6,"max_retry_delay_ms":5}}"#,
                "give max_retry_delay_ms of at least retry_delay_ms, which is 6",
            ),
        ] {
            let error = read(routes).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
