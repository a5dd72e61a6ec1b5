//! The ranges of the fields.

use std::time::Duration;

use crate::{AllowedHosts, Config, ConfigError, Sync};

fn read(json: &str) -> Result<Config, ConfigError> {
    Config::from_json("f", json)
}

fn error(json: &str) -> String {
    read(json).expect_err(json).to_string()
}

#[test]
fn an_empty_object_and_nulls_are_the_defaults() {
    assert_eq!(read("{}").unwrap(), Config::default());
    let names = serde_json::to_value(Config::default()).unwrap();
    let names = names.as_object().unwrap().keys();
    for name in names.filter(|name| *name != "http_addr") {
        assert_eq!(
            read(&format!("{{\"{name}\":null}}")).unwrap(),
            Config::default(),
            "{name}"
        );
    }
}

#[test]
fn every_number_has_its_range() {
    for (field, unit, least, most) in [
        ("tick_ms", "milliseconds", 1, 1_000),
        ("window_ms", "milliseconds", 1_000, 86_400_000),
        ("window_tasks", "a number", 1_000, 100_000_000),
        ("ready_channel_capacity", "a number", 1, 1_048_576),
        ("connection_write_channel", "a number", 1, 65_536),
        ("max_connections", "a number", 1, 1_000_000),
        ("reserved_connections", "a number", 0, 1_024),
        ("max_line_bytes", "bytes", 1_024, 16_777_216),
        ("max_unfinished_bytes", "bytes", 262_144, 68_719_476_736),
        ("max_routes_per_connection", "a number", 1, 1_000_000),
        ("max_routes", "a number", 1, 100_000_000),
        ("idle_timeout_seconds", "seconds", 1, 604_800),
        ("keepalive_seconds", "seconds", 1, 3_600),
        ("user_timeout_seconds", "seconds", 1, 3_600),
        ("max_delay_days", "days", 1, 36_500),
        ("dedupe_seconds", "seconds", 0, 604_800),
        ("credit", "a number", 1, 65_535),
        ("ack_timeout_ms", "milliseconds", 1, 86_400_000),
        ("retry_delay_ms", "milliseconds", 1, 86_400_000),
        ("max_retry_delay_ms", "milliseconds", 1, 86_400_000),
        ("max_attempts", "a number", 1, u64::from(u32::MAX)),
        ("dead_retention_seconds", "seconds", 1, 315_360_000),
    ] {
        // A field that is bounded by another gets room.
        let other = match field {
            "retry_delay_ms" => r#","max_retry_delay_ms":86400000"#,
            "max_retry_delay_ms" => r#","retry_delay_ms":1"#,
            _ => "",
        };
        for value in [least, most] {
            let config = read(&format!("{{\"{field}\":{value}{other}}}")).unwrap();
            assert_eq!(serde_json::to_value(config).unwrap()[field], value);
        }
        let beyond = [(most + 1).to_string(), (i128::from(least) - 1).to_string()];
        for value in beyond
            .iter()
            .map(String::as_str)
            .chain(["1.5", "\"5\"", "true", "[]"])
        {
            let json = format!("{{\"{field}\":{value}{other}}}");
            assert_eq!(
                error(&json),
                format!("f: {field} is {value}: give {unit} from {least} to {most}")
            );
        }
    }
}

#[test]
fn the_longest_wait_is_not_shorter_than_the_first() {
    assert!(read(r#"{"retry_delay_ms":60000}"#).is_ok());
    assert_eq!(
        error(r#"{"retry_delay_ms":60001}"#),
        "f: max_retry_delay_ms is 60000: give at least retry_delay_ms, which is 60001"
    );
}

#[test]
fn unfinished_lines_may_take_four_times_the_longest_line() {
    assert!(read(r#"{"max_line_bytes":1000000,"max_unfinished_bytes":4000000}"#).is_ok());
    assert_eq!(
        error(r#"{"max_line_bytes":1000000,"max_unfinished_bytes":3999999}"#),
        "f: max_unfinished_bytes is 3999999: give at least four times max_line_bytes, which is \
         1000000"
    );
}

#[test]
fn addresses_and_folders_are_checked() {
    let config = read(r#"{"bind_addr":"[::]:0","data_dir":"/x","open":true}"#).unwrap();
    assert_eq!(
        (config.bind_addr.port(), config.data_dir.to_str()),
        (0, Some("/x"))
    );
    for value in ["\"localhost:7000\"", "\"127.0.0.1\"", "7000"] {
        let text = error(&format!("{{\"bind_addr\":{value}}}"));
        assert!(
            text.starts_with(&format!(
                "f: bind_addr is {value}: give an address and a port"
            )),
            "{text}"
        );
    }
    assert_eq!(
        error(r#"{"data_dir":""}"#),
        "f: data_dir is \"\": give the path of a folder"
    );
}

#[test]
fn null_turns_the_http_listener_off() {
    assert_eq!(read(r#"{"http_addr":null}"#).unwrap().http_addr, None);
    let default = read("{}").unwrap().http_addr.unwrap();
    assert_eq!(default.to_string(), "127.0.0.1:7001");
    let config = read(r#"{"http_addr":"[::1]:0"}"#).unwrap();
    assert_eq!(config.http_addr.unwrap().to_string(), "[::1]:0");
    for value in ["\"localhost:7001\"", "\"off\"", "7001", "false"] {
        let text = error(&format!("{{\"http_addr\":{value}}}"));
        let start = format!("f: http_addr is {value}: give an address and a port");
        assert!(text.starts_with(&start), "{text}");
        assert!(text.ends_with("or null to turn it off"), "{text}");
    }
}

#[test]
fn http_hosts_are_names_and_addresses() {
    let config = read(r#"{"http_hosts":["delay.example.org","::1"]}"#).unwrap();
    let shown = serde_json::to_value(&config).unwrap();
    assert_eq!(
        shown["http_hosts"],
        serde_json::json!(["delay.example.org", "::1"])
    );
    assert_eq!(
        error(r#"{"http_hosts":"a"}"#),
        "f: http_hosts is \"a\": give a list of names and addresses"
    );
    let text = error(r#"{"http_hosts":["a", "http://b:1"]}"#);
    assert!(
        text.contains("\"http://b:1\" in it: give a name such as"),
        "{text}"
    );
}

#[test]
fn sync_is_one_of_three() {
    let config = read(r#"{"sync":"interval:50ms"}"#).unwrap();
    assert_eq!(config.sync, Sync::Interval(Duration::from_millis(50)));
    let text = error(r#"{"sync":"interval:2m"}"#);
    assert_eq!(
        text,
        "f: sync is \"interval:2m\": give \"always\", \"never\", or \"interval:\" and a time from 1ms to 60s such as \"interval:50ms\""
    );
}

#[test]
fn hosts_are_addresses_and_ranges() {
    assert_eq!(
        read(r#"{"allowed_hosts":[]}"#).unwrap().allowed_hosts,
        AllowedHosts::default()
    );
    let config = read(r#"{"allowed_hosts":["10.0.0.0/8"]}"#).unwrap();
    assert!(config.allowed_hosts.allows([10, 1, 2, 3].into()));
    let text = error(r#"{"allowed_hosts":["10.0.0.1","localhost"]}"#);
    let begin = "f: allowed_hosts is [\"10.0.0.1\",\"localhost\"]: \"localhost\" in it: this is a name, and";
    assert!(text.starts_with(begin), "{text}");
    assert!(error(r#"{"allowed_hosts":[7]}"#).contains("7 in it: give an address"));
    assert!(error(r#"{"allowed_hosts":"::1"}"#).ends_with("give a list of addresses and ranges"));
}

#[test]
fn tls_names_its_files() {
    let config = read(r#"{"tls":{"cert":"c.pem","key":"/k.pem","client_ca":null}}"#).unwrap();
    let files = config.tls.clone().unwrap();
    assert_eq!(
        (files.cert.to_str(), files.key.to_str(), files.client_ca),
        (Some("c.pem"), Some("/k.pem"), None)
    );
    assert_eq!(read(&config.to_string()).unwrap(), config);
    let json = r#"{"tls":{"cert":"c","key":"k","client_ca":"a"}}"#;
    let config = read(json).unwrap();
    assert_eq!(read(&config.to_string()).unwrap(), config);
    for (json, cure) in [
        (r#"true"#, "give {\"cert\": FILE, \"key\": FILE}"),
        (r#"{"cert":"c"}"#, "key is missing in it: give {"),
        (r#"{"key":"k"}"#, "cert is missing in it: give {"),
        (
            r#"{"cert":"","key":"k"}"#,
            "cert in it is \"\": give the path of a file",
        ),
        (
            r#"{"cert":"c","client_ca":["a"],"key":"k"}"#,
            "client_ca in it is [\"a\"]: give the path of a file",
        ),
        (
            r#"{"ca":"a","cert":"c","key":"k"}"#,
            "\"ca\" in it is no field: give {",
        ),
    ] {
        let text = error(&format!("{{\"tls\":{json}}}"));
        assert!(
            text.starts_with(&format!("f: tls is {json}: {cure}")),
            "{text}"
        );
    }
}

#[test]
fn hedges_are_delays_by_route_or_prefix() {
    let config = read(r#"{"hedge":{"pay-*":50,"pay-1":70}}"#).unwrap();
    assert_eq!(config.hedge_of("pay-1"), Some(Duration::from_millis(70)));
    assert_eq!(config.hedge_of("pay-2"), Some(Duration::from_millis(50)));
    assert_eq!(config.hedge_of("mail"), None);
    let long = "x".repeat(128);
    assert!(read(&format!(r#"{{"hedge":{{"{long}":1,"{long}*":1,"*":1}}}}"#)).is_ok());
    for (json, cure) in [
        (
            "{\"a\":0}".to_owned(),
            "0 for \"a\" in it: give milliseconds from 1 to 86400000",
        ),
        (
            "{\"a\":\"5\"}".to_owned(),
            "\"5\" for \"a\" in it: give milliseconds from 1 to 86400000",
        ),
        (
            "{\"\":5}".to_owned(),
            "\"\" in it: give a route of 1 to 128 bytes, or the beginning of one and *",
        ),
        (
            format!("{{\"{long}x\":5}}"),
            "in it: give a route of 1 to 128 bytes, or the beginning of one and *",
        ),
        (
            "[5]".to_owned(),
            "give an object of routes or prefixes with their delays",
        ),
    ] {
        let text = error(&format!("{{\"hedge\":{json}}}"));
        assert!(
            text.starts_with(&format!("f: hedge is {json}: ")) && text.ends_with(cure),
            "{text}"
        );
    }
    assert_eq!(
        error(r#"{"hedge":{"a":500},"ack_timeout_ms":500}"#),
        "f: hedge of \"a\" is 500: give less than ack_timeout_ms, which is 500"
    );
    for (routes, key, timeout) in [
        (r#"{"a-1":{"ack_timeout_ms":400}}"#, "a-1", 400),
        (r#"{"a*":{"ack_timeout_ms":500}}"#, "a*", 500),
        (r#"{"*":{"ack_timeout_ms":9}}"#, "a*", 9),
    ] {
        assert_eq!(
            error(&format!(r#"{{"hedge":{{"a*":500}},"routes":{routes}}}"#)),
            format!(
                "f: hedge of {key:?} is 500: give less than ack_timeout_ms, which is {timeout}"
            )
        );
    }
    for json in [
        r#"{"hedge":{"a":40000},"routes":{"a":{"ack_timeout_ms":40001}}}"#,
        r#"{"hedge":{"a*":500,"a-1":5},"routes":{"a-1":{"ack_timeout_ms":400}}}"#,
    ] {
        read(json).unwrap();
    }
}

#[test]
fn an_unknown_field_is_named() {
    let text = error(r#"{"tick":1}"#);
    assert!(
        text.starts_with(
            "f: tick is no field: did you mean tick_ms? Else give data_dir, bind_addr, "
        ),
        "{text}"
    );
}

#[test]
fn a_file_is_one_object_with_each_field_once() {
    for json in ["", "[]", "7", "{", "{} {}", "{\"credit\":1,}"] {
        assert!(
            error(json).starts_with("f: not a JSON object with each field once: "),
            "{json}"
        );
    }
    for (json, twice) in [
        (r#"{"credit":1,"credit":2}"#, "credit"),
        (r#"{"hedge":{"a":1,"a":2}}"#, "a"),
        (r#"{"routes":{"a*":{},"a*":{"max_attempts":1}}}"#, "a*"),
        (r#"{"quotas":{"b":{"pending":1,"pending":2}}}"#, "pending"),
        (r#"{"tls":{"cert":"a","cert":"b","key":"c"}}"#, "cert"),
        (r#"{"hosts":[{"c":1,"c":1}]}"#, "c"),
    ] {
        let text = error(json);
        let wanted = format!("{twice} is given twice: give it once");
        assert!(text.contains(&wanted), "{text}");
    }
}

#[test]
fn a_printed_configuration_can_be_read_again() {
    let json = r#"{"sync":"interval:1s 5ms","hedge":{"a*":5},"max_attempts":3,"allowed_hosts":["10.0.0.0/8"]}"#;
    let config = read(json).unwrap();
    assert_eq!(read(&config.to_string()).unwrap(), config);
}

#[test]
fn strangers_are_let_in_only_if_that_is_asked_for() {
    let text = error(r#"{"bind_addr":"0.0.0.0:7000"}"#);
    assert!(
        text.starts_with("f: bind_addr is \"0.0.0.0:7000\": other machines can reach it"),
        "{text}"
    );
    for cure in [
        "set tokens and tls",
        "tls.client_ca",
        "127.0.0.1:7000",
        "\"open\": true",
    ] {
        assert!(text.contains(cure), "{cure} is missing in {text}");
    }
    assert!(
        read(r#"{"bind_addr":"0.0.0.0:7000","open":true}"#)
            .unwrap()
            .open
    );
    let text = error(r#"{"bind_addr":"10.0.0.1:7000","tokens":"t.json","open":true}"#);
    assert!(
        text.contains("tokens would cross the network unencrypted: set tls"),
        "{text}"
    );
    let guarded = r#"{"bind_addr":"0.0.0.0:7000","tokens":"t.json","tls":{"cert":"c","key":"k"}}"#;
    assert_eq!(read(guarded).unwrap().tokens, Some("t.json".into()));
    assert!(read(r#"{"tokens":"t.json"}"#).is_ok());
}

#[test]
fn tokens_are_a_path_and_open_is_a_flag() {
    let text = error(r#"{"tokens":""}"#);
    assert!(
        text.starts_with("f: tokens is \"\": give the path of a file"),
        "{text}"
    );
    assert_eq!(error(r#"{"open":1}"#), "f: open is 1: give true or false");
}
