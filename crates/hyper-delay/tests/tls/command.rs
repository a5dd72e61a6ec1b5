//! The commands.

use std::process::{Command, Stdio};

use serde_json::json;
use testkit::{Ended, process::run, server::alone};

use crate::{
    authority::Authority,
    server::{PROGRAM, Server},
};

/// Runs a command against the server, with these variables of the environment.
fn with(server: &Server, variables: &[(&str, &str)], line: &[&str]) -> Ended {
    let mut command = Command::new(PROGRAM);
    alone(&mut command, server.directory.path());
    command
        .env("HYPER_DELAY_ADDR", server.address.to_string())
        .envs(variables.iter().copied())
        .args(line)
        .stdin(Stdio::null());
    run(command.stdout(Stdio::piped()).stderr(Stdio::piped()), b"")
}

#[test]
fn commands_speak_tls_by_options_and_by_the_environment() {
    let server = Server::start();
    let ca = [("HYPER_DELAY_TLS_CA", "ca.pem")];
    with(&server, &ca, &["schedule", "hello", "--route", "a"]).done();
    let listen = ["listen", "a", "--count", "1", "--tls-ca", "ca.pem"];
    let heard = with(&server, &[], &listen).done();
    assert!(heard.ends_with("hello\n"), "{heard}");
    let named = ["ping", "--tls-ca", "ca.pem", "--tls-name", "localhost"];
    with(&server, &[], &named).done();
    // The variable of the library that finds the authorities of the system.
    let system = [("SSL_CERT_FILE", "ca.pem")];
    with(&server, &system, &["ping", "--tls"]).done();
    with(&server, &[system[0], ("HYPER_DELAY_TLS", "1")], &["ping"]).done();
    let bench = ["bench", "deliver", "--tasks", "200", "--tls-ca", "ca.pem"];
    with(&server, &[], &bench).done();
}

#[test]
fn a_server_with_the_certificate_of_an_authority_is_named_so() {
    let authority = Authority::new();
    let identity = authority.issue_authority();
    let server = Server::start_as(authority, identity, json!({}));
    let error = with(&server, &[], &["ping", "--tls-ca", "ca.pem"]).failed(1);
    assert!(
        error.contains("give the server one with CA:FALSE"),
        "{error}"
    );
}

#[test]
fn commands_send_a_client_certificate() {
    let server = Server::start_with_client_ca();
    let mine = server.authority.issue();
    server.directory.write("mine.pem", &mine.cert);
    server.directory.write("mine.key", &mine.key);
    let mut line = vec!["ping", "--tls-ca", "ca.pem"];
    let error = with(&server, &[], &line).failed(1);
    assert!(error.contains("CertificateRequired"), "{error}");
    assert!(error.contains("--tls-cert"), "{error}");
    line.extend(["--tls-cert", "mine.pem", "--tls-key", "mine.key"]);
    with(&server, &[], &line).done();
    line.truncate(5);
    with(&server, &[], &line).failed(2);
}

#[test]
fn errors_name_the_cause_and_the_options() {
    let server = Server::start();
    server.directory.write("other.pem", &Authority::new().pem());
    for (line, named) in [
        (&["ping"][..], "tls_required"),
        (
            &["ping", "--tls-ca", "other.pem"],
            "invalid peer certificate",
        ),
        (&["ping", "--tls-ca", "no.pem"], "cannot read \"no.pem\""),
        (
            &["ping", "--tls-ca", "key.pem"],
            "cannot use \"key.pem\": it has no whole certificate",
        ),
        (
            &["ping", "--tls-ca", "ca.pem", "--tls-name", "b"],
            "invalid peer certificate",
        ),
        (
            &["bench", "schedule", "--tls-ca", "other.pem"],
            "invalid peer certificate",
        ),
    ] {
        let error = with(&server, &[], line).failed(1);
        assert!(error.contains(named), "{error}");
        assert!(error.to_lowercase().contains("tls"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let plain = Server::start_with(json!({"tls": null}));
    let error = with(&plain, &[], &["ping", "--tls-ca", "ca.pem"]).failed(1);
    assert!(error.contains("the server does not speak TLS"), "{error}");
}
