//! What the server says about files that it cannot use.

use std::process::{Command, Stdio};

use serde_json::json;
use testkit::{Ended, process::run, server::alone};

use crate::{
    authority::Authority,
    server::{Directory, PROGRAM, files},
};

fn started(directory: &Directory, line: &[&str]) -> Ended {
    let mut command = Command::new(PROGRAM);
    alone(&mut command, directory.path());
    command.args(line).stdin(Stdio::null());
    run(command.stdout(Stdio::piped()).stderr(Stdio::piped()), b"")
}

/// A directory with valid files.
fn valid() -> (Directory, Authority) {
    let directory = Directory::new();
    let authority = Authority::new();
    directory.write("ca.pem", &authority.pem());
    directory.write_identity(&authority.issue());
    let tls = json!({"cert": "cert.pem", "key": "key.pem", "client_ca": "ca.pem"});
    directory.configure(json!({ "tls": tls }));
    (directory, authority)
}

#[test]
fn check_config_accepts_valid_files_and_prints_their_names() {
    let (directory, _) = valid();
    let printed = started(&directory, &["--check-config"]).done();
    assert!(printed.contains(r#""client_ca": "ca.pem""#), "{printed}");
}

#[cfg(feature = "cluster")]
#[test]
fn check_config_reads_the_files_of_a_node() {
    let (directory, _) = valid();
    let node = json!({
        "etcd": ["https://127.0.0.1:1"],
        "node": "a",
        "advertise": "127.0.0.1:7002",
        "tls": {"cert": "cert.pem", "key": "key.pem", "ca": "ca.pem"},
    });
    let checked = |field: &str, value: serde_json::Value| {
        let mut node = node.clone();
        node[field] = value;
        directory.configure(json!({ "cluster": node }));
        started(&directory, &["--check-config"])
    };
    checked("etcd_tls", json!({"ca": "ca.pem"})).done();
    for (field, value, named) in [
        (
            "tls",
            json!({"cert": "none.pem", "key": "key.pem", "ca": "ca.pem"}),
            "cluster.tls.cert is \"none.pem\", which cannot be read: ",
        ),
        (
            "tls",
            json!({"cert": "ca.pem", "key": "key.pem", "ca": "ca.pem"}),
            "cluster.tls.key is \"key.pem\", which does not belong to",
        ),
        (
            "etcd_tls",
            json!({"ca": "none.pem"}),
            "etcd_tls in `cluster`: none.pem cannot be read: ",
        ),
        (
            "etcd_user",
            json!({"name": "x", "password_file": "none"}),
            "none: cannot be read: ",
        ),
    ] {
        let error = checked(field, value).failed(1);
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn check_config_warns_of_a_certificate_that_has_expired() {
    let (directory, authority) = valid();
    directory.write_identity(&authority.issue_expired());
    let checked = started(&directory, &["--check-config"]);
    let warning = "warning: the certificate in tls.cert expired at 2001-01-01T00:00:00Z: ";
    assert!(checked.stderr.starts_with(warning), "{checked:?}");
    checked.done();
}

#[test]
fn files_that_cannot_be_used_are_errors_that_name_field_file_and_cure() {
    let (_, authority) = valid();
    let other = authority.issue();
    let cases = [
        (
            "cert.pem",
            None,
            "tls.cert is \"cert.pem\", which cannot be read: ",
        ),
        (
            "key.pem",
            None,
            "tls.key is \"key.pem\", which cannot be read: ",
        ),
        (
            "ca.pem",
            None,
            "tls.client_ca is \"ca.pem\", which cannot be read: ",
        ),
        (
            "cert.pem",
            Some(""),
            "tls.cert is \"cert.pem\", which has no certificate: ",
        ),
        (
            "ca.pem",
            Some("text"),
            "tls.client_ca is \"ca.pem\", which has no certificate: ",
        ),
        (
            "key.pem",
            Some(""),
            "tls.key is \"key.pem\", which has no whole private key: ",
        ),
        (
            "key.pem",
            Some(&*other.key),
            "tls.key is \"key.pem\", which does not belong to the first certificate in tls.cert",
        ),
        (
            "cert.pem",
            Some(&other.cert),
            "which does not belong to the first certificate",
        ),
        (
            "cert.pem",
            Some(&other.cert[..200]),
            "tls.cert is \"cert.pem\", which is damaged PEM: ",
        ),
    ];
    for (file, text, complaint) in cases {
        let (directory, _) = valid();
        match text {
            Some(text) => drop(directory.write(file, text)),
            None => std::fs::remove_file(directory.path().join(file)).unwrap(),
        }
        for line in [&["--check-config"][..], &["serve"]] {
            let error = started(&directory, line).failed(1);
            assert!(error.contains(complaint), "{error}");
            assert!(error.contains("give "), "{error}");
        }
        assert!(!directory.path().join("data").exists(), "no store is made");
    }
}

#[test]
fn an_error_contains_no_part_of_a_key() {
    let (directory, authority) = valid();
    let key = authority.issue().key;
    let secret = key.lines().nth(1).unwrap();
    // Damaged in each way: a header that runs into the key, a missing end, a line that is no base64.
    let damaged = [
        format!("-----BEGIN PRIVATE KEY{secret}\n"),
        key.lines().take(2).collect::<Vec<_>>().join("\n"),
        key.replacen(secret, &format!("%{secret}"), 1),
    ];
    for damaged in damaged {
        directory.write("key.pem", &damaged);
        let error = started(&directory, &["--check-config"]).failed(1);
        assert!(error.contains("tls.key"), "{error}");
        assert!(!error.contains(&secret[..20]), "{error}");
        let bytes = format!("{:?}", &secret.as_bytes()[..8]);
        assert!(!error.contains(bytes.trim_matches(['[', ']'])), "{error}");
    }
}

#[test]
fn pipes_and_directories_are_refused() {
    let (directory, _) = valid();
    let tls = json!({"cert": ".", "key": "key.pem"});
    directory.configure(json!({ "tls": tls }));
    let error = started(&directory, &["--check-config"]).failed(1);
    assert!(error.contains("tls.cert is \".\""), "{error}");
    assert!(error.contains("not a regular file"), "{error}");
    let pipe = directory.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let mut tls = files();
    tls["key"] = json!("pipe");
    directory.configure(json!({ "tls": tls }));
    let error = started(&directory, &["--check-config"]).failed(1);
    assert!(error.contains("not a regular file"), "{error}");
}
