//! Valid and invalid values of the field `cluster`.

use serde_json::{Value, json};

use crate::{Cluster, Config};

fn config(json: &Value) -> Result<Config, String> {
    Config::from_json("f", &json.to_string()).map_err(|error| error.to_string())
}

/// A cluster of the least, with some fields set.
fn with(fields: Value) -> Value {
    let mut cluster = json!({
        "etcd": ["http://10.0.0.1:2379"],
        "node": "a",
        "advertise": "127.0.0.1:7002",
    });
    let Value::Object(fields) = fields else {
        panic!("{fields} is no object");
    };
    for (field, value) in fields {
        cluster[field] = value;
    }
    cluster
}

fn parse(fields: Value) -> Result<Cluster, String> {
    let cluster = config(&json!({ "cluster": with(fields) }))?.cluster;
    Ok(cluster.expect("it is given"))
}

#[test]
fn three_fields_suffice() {
    let cluster = parse(json!({})).unwrap();
    let wanted = Cluster {
        etcd: vec!["http://10.0.0.1:2379".to_owned()],
        node: "a".to_owned(),
        advertise: "127.0.0.1:7002".to_owned(),
        bind_addr: ([127, 0, 0, 1], 7_002).into(),
        lease_ms: 2_000,
        tls: None,
        etcd_tls: None,
        etcd_user: None,
    };
    assert_eq!(cluster, wanted);
    assert_eq!(config(&json!({"cluster": null})).unwrap().cluster, None);
    for field in ["etcd", "node", "advertise"] {
        let error = parse(json!({ field: null })).unwrap_err();
        let wanted = format!("{field} is missing in it: give an object with etcd, node and");
        assert!(error.contains(&wanted), "{error}");
    }
}

#[test]
fn every_field_is_read_and_printed() {
    let fields = json!({
        "etcd": ["https://10.0.0.1:2379", "https://etcd.example:443", "https://[::1]:2379/"],
        "node": "Node-1.b_c",
        "advertise": "a.internal:7002",
        "bind_addr": "0.0.0.0:7003",
        "lease_ms": 500,
        "tls": {"cert": "c", "key": "k", "ca": "a"},
        "etcd_tls": {"ca": "ea", "cert": "ec", "key": "ek"},
        "etcd_user": {"name": "hd", "password_file": "p"},
    });
    let read = config(&json!({ "cluster": fields })).unwrap();
    let shown = serde_json::to_value(&read).unwrap();
    assert_eq!(shown["cluster"], fields);
    assert_eq!(config(&shown).unwrap(), read);
}

#[test]
fn bad_fields_are_errors_that_name_the_value_and_the_cure() {
    let long = "x".repeat(65);
    for (fields, parts) in [
        (
            json!({"lease": 5}),
            &["\"lease\" in it is no field", "lease_ms"][..],
        ),
        (json!({"etcd": []}), &["etcd in it is []: give a list"]),
        (
            json!({"etcd": "http://a"}),
            &["etcd in it is \"http://a\": give a list"],
        ),
        (
            json!({"etcd": ["http://a:2379", "a:2379"]}),
            &["\"a:2379\" in it: give a URL such as"],
        ),
        (
            json!({"etcd": ["ftp://a"]}),
            &["\"ftp://a\" in it: give a URL"],
        ),
        (
            json!({"etcd": ["http://a/b"]}),
            &["\"http://a/b\" in it: give"],
        ),
        (
            json!({"etcd": ["http://u:p@a:2379"]}),
            &["\"http://***@a:2379\" in it: name the user in etcd_user"],
        ),
        (
            json!({"etcd": ["http://a"]}),
            &["\"http://a\" in it: give its port, too"],
        ),
        (
            json!({"etcd": ["http://a:65536"]}),
            &["in it: give its port, too, 1 to 65535"],
        ),
        (json!({"etcd": ["http://a:0"]}), &["in it: give its port"]),
        (json!({"etcd": ["http://a?b"]}), &["in it: give a URL"]),
        (
            json!({"etcd": ["http://a:1", "http://b:1", "http://a:1"]}),
            &["\"http://a:1\" is given twice in it: give it once"],
        ),
        (
            json!({"etcd": ["http://a:1", "http://a:1/"]}),
            &["\"http://a:1/\" is given twice in it: give it once"],
        ),
        (
            json!({"node": ""}),
            &["node in it is \"\": give a name of 1 to 64"],
        ),
        (
            json!({"node": "a/b"}),
            &["node in it is \"a/b\": give a name"],
        ),
        (json!({"node": "ä"}), &["node in it is \"ä\": give a name"]),
        (
            json!({"node": "-a"}),
            &["node in it is \"-a\": give a name", "does not begin with"],
        ),
        (json!({"node": long}), &["give a name of 1 to 64 letters"]),
        (
            json!({"advertise": "a"}),
            &["advertise in it is \"a\": give the host"],
        ),
        (
            json!({"advertise": "a:0"}),
            &["advertise in it is \"a:0\": give"],
        ),
        (
            json!({"advertise": "0.0.0.0:7002"}),
            &["advertise in it is \"0.0.0.0:7002\": give the host"],
        ),
        (
            json!({"bind_addr": "a.internal:7002"}),
            &["bind_addr in it is", "names are not looked up"],
        ),
        (
            json!({"bind_addr": "127.0.0.1:0"}),
            &["a port that is not 0"],
        ),
        (
            json!({"lease_ms": 499}),
            &["give milliseconds from 500 to 60000"],
        ),
        (
            json!({"lease_ms": 60_001}),
            &["give milliseconds from 500 to 60000"],
        ),
        (
            json!({"tls": {"cert": "c", "key": "k"}}),
            &["tls in it is {", "ca is missing in it: give {\"cert\""],
        ),
        (
            json!({"tls": {"client_ca": "c"}}),
            &["\"client_ca\" in it is no field"],
        ),
        (json!({"etcd_tls": {}}), &["it has no file: give {\"ca\""]),
        (
            json!({"etcd_tls": {"cert": "c"}}),
            &["key is missing in it"],
        ),
        (
            json!({"etcd_tls": {"key": "k"}}),
            &["cert is missing in it"],
        ),
        (
            json!({"etcd_tls": {"ca": "c"}, "etcd": ["https://a:1", "http://b:1"]}),
            &["\"http://b:1\" does not use TLS: begin the URL with https://"],
        ),
        (
            json!({"etcd_user": {"name": "a", "password": "b"}}),
            &[
                "\"password\" in it is no field: did you mean password_file? Else give {\"name\": NAME, \"password_file\"",
            ],
        ),
        (
            json!({"etcd_user": {"name": "a"}}),
            &["password_file is missing in it"],
        ),
        (
            json!({"etcd_user": {"name": "", "password_file": "p"}}),
            &["name in it is \"\": give the name of a user"],
        ),
    ] {
        let error = parse(fields.clone()).expect_err(&fields.to_string());
        assert!(error.starts_with("f: cluster is {"), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in {error}");
        }
    }
    let error = config(&json!({"cluster": true})).unwrap_err();
    assert!(
        error.starts_with("f: cluster is true: give an object with etcd, node and advertise"),
        "{error}"
    );
}

#[test]
fn a_line_has_at_most_a_mebibyte_in_a_cluster() {
    let long = |bytes: u64, cluster| config(&json!({"max_line_bytes": bytes, "cluster": cluster}));
    assert!(long(1 << 20, with(json!({}))).is_ok());
    assert!(long((1 << 20) + 1, Value::Null).is_ok());
    assert_eq!(
        long((1 << 20) + 1, with(json!({}))).unwrap_err(),
        "f: max_line_bytes is 1048577: give at most 1048576 with cluster, or leave cluster out"
    );
}

#[test]
fn strangers_are_no_nodes_unless_that_is_asked_for() {
    let open = json!({"advertise": "a.internal:7002"});
    let error = parse(open.clone()).unwrap_err();
    assert!(
        error.starts_with("f: cluster.bind_addr is \"[::]:7002\": other machines can reach it"),
        "{error}"
    );
    for cure in ["set cluster.tls", "127.0.0.1:7002", "\"open\": true"] {
        assert!(error.contains(cure), "{cure} is missing in {error}");
    }
    assert!(config(&json!({"open": true, "cluster": with(open)})).is_ok());
    let tls = json!({"cert": "c", "key": "k", "ca": "a"});
    assert!(parse(json!({"advertise": "10.0.0.1:7002", "tls": tls})).is_ok());
    let behind = json!({"advertise": "10.0.0.1:7002", "bind_addr": "[::1]:7002"});
    assert!(parse(behind).is_ok());
}

#[test]
fn links_have_an_address_of_their_own() {
    for field in ["bind_addr", "http_addr"] {
        let json = json!({ field: "127.0.0.1:7002", "cluster": with(json!({})) });
        assert_eq!(
            config(&json).unwrap_err(),
            format!(
                "f: cluster.bind_addr is \"127.0.0.1:7002\": {field} of the server is the same: \
                 give them different ports"
            )
        );
    }
}

#[test]
fn links_have_a_port_of_their_own_if_an_address_is_every_one() {
    let read = |server: &str, field: &str, links: &str| {
        let cluster = with(json!({ "bind_addr": links }));
        config(&json!({ field: server, "open": true, "cluster": cluster }))
    };
    for (server, links) in [
        ("127.0.0.1:7003", "0.0.0.0:7003"),
        ("127.0.0.1:7003", "[::]:7003"),
        ("[::1]:7003", "0.0.0.0:7003"),
        ("0.0.0.0:7003", "10.0.0.1:7003"),
        ("[::]:7003", "10.0.0.1:7003"),
        ("0.0.0.0:7003", "[::]:7003"),
        ("127.0.0.1:7003", "[::ffff:127.0.0.1]:7003"),
    ] {
        for field in ["bind_addr", "http_addr"] {
            let error = read(server, field, links).unwrap_err();
            let wanted = format!(
                "f: cluster.bind_addr is \"{links}\": {field} of the server is \"{server}\", on \
                 the same port: give them different ports"
            );
            assert_eq!(error, wanted);
        }
    }
    for (server, links) in [
        ("127.0.0.1:7003", "127.0.0.2:7003"),
        ("0.0.0.0:7003", "0.0.0.0:7004"),
        ("127.0.0.1:0", "0.0.0.0:7004"),
    ] {
        read(server, "bind_addr", links).expect(links);
    }
}
