//! Tokens and certificates that have rights.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{process::run, request::later, server::alone};

use crate::{
    authority::Authority,
    peer::{Options, Peer},
    server::{Directory, PROGRAM, Server},
};

/// Runs `hyper-delay token` with these arguments, and returns what it prints.
fn token(directory: &Directory, line: &[&str]) -> String {
    let mut command = Command::new(PROGRAM);
    alone(&mut command, directory.path());
    command
        .arg("token")
        .args(line)
        .args(["--file", "tokens.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    run(&mut command, b"").done().trim_end().to_owned()
}

fn new(directory: &Directory, right: &str, more: &[&str]) -> String {
    let line = ["new", "--name", "n", "--right", right, "--route", "mail"];
    token(directory, &[&line[..], more].concat())
}

fn start(directory: Directory, config: Value) -> Server {
    let authority = Authority::new();
    let identity = authority.issue();
    Server::start_in(directory, authority, identity, config)
}

fn with_client_ca() -> Value {
    let tls = json!({"cert": "cert.pem", "key": "key.pem", "client_ca": "ca.pem"});
    json!({"tls": tls, "tokens": "tokens.json"})
}

fn schedule(payload: &str) -> String {
    format!(
        r#"{{"kind":"schedule","route_key":"mail","fire_at":{},"payload_base64":"{payload}"}}"#,
        later()
    )
}

const REGISTER: &str = r#"{"kind":"register","route_key":"mail"}"#;

#[test]
fn certificate_gives_the_rights_of_its_name() {
    let directory = Directory::new();
    let id = new(
        &directory,
        "schedule",
        &["--certificate", "billing.internal"],
    );
    let secret = new(&directory, "consume", &[]);
    let server = start(directory, with_client_ca());
    let billing = server.authority.issue_to("billing.internal");
    let connect = |identity| {
        let options = Options::of(&server).showing(identity);
        options.connect(server.address).unwrap()
    };
    let mut peer = connect(&billing);
    // Its first line may be long: it need not authenticate.
    let reply = peer.ask(&schedule(&"A".repeat(20_000)));
    assert_eq!(reply["kind"], "ack", "{reply}");
    assert_eq!(peer.ask(REGISTER)["code"], "forbidden");

    let stranger = server.authority.issue_to("other.internal");
    let mut other = connect(&stranger);
    assert_eq!(other.ask(&schedule(""))["code"], "forbidden");
    assert_eq!(other.ask(REGISTER)["code"], "forbidden");
    let auth = format!(r#"{{"kind":"auth","token":"{secret}"}}"#);
    assert_eq!(other.ask(&auth)["kind"], "authenticated");
    assert_eq!(other.ask(REGISTER)["kind"], "registered");

    token(&server.directory, &["revoke", &id]);
    server.signal("HUP");
    server.logs("the configuration was reloaded");
    let line: Value = serde_json::from_str(&peer.line().unwrap()).unwrap();
    assert_eq!(line["code"], "forbidden", "{line}");
    assert_eq!(peer.line(), None);
    assert_eq!(connect(&billing).ask(&schedule(""))["code"], "forbidden");
    other.pings();
}

#[test]
fn server_for_other_machines_takes_tokens_over_tls() {
    let directory = Directory::new();
    let secret = new(&directory, "schedule", &[]);
    let config = json!({"tokens": "tokens.json", "bind_addr": "0.0.0.0:0"});
    let server = start(directory, config);
    let mut peer = Peer::connect(&server);
    assert_eq!(peer.ask(&schedule(""))["code"], "forbidden");
    let auth = format!(r#"{{"kind":"auth","token":"{secret}"}}"#);
    assert_eq!(peer.ask(&auth)["name"], "n");
    assert_eq!(peer.ask(&schedule(""))["kind"], "ack");
}

#[test]
fn reload_that_would_expose_the_server_is_refused() {
    let directory = Directory::new();
    new(&directory, "schedule", &[]);
    let config = json!({"tokens": "tokens.json", "bind_addr": "0.0.0.0:0"});
    let server = start(directory, config);
    let without = |fields: Value, cure: &str| {
        // The address in the file is protected, and takes effect only after a restart.
        server.directory.configure(fields);
        server.signal("HUP");
        let line = server.logs(cure);
        assert!(
            line.contains("the configuration was not reloaded"),
            "{line}"
        );
        assert_eq!(
            Peer::connect(&server).ask(&schedule(""))["code"],
            "forbidden"
        );
    };
    without(json!({}), "other machines can reach it");
    without(
        json!({"tls": null, "tokens": "tokens.json"}),
        "tokens would cross the network unencrypted",
    );
}

#[test]
fn certificate_gives_no_rights_over_http() {
    let directory = Directory::new();
    let name = ["--certificate", "billing.internal"];
    new(&directory, "admin", &name);
    let secret = new(&directory, "admin", &[]);
    let mut config = with_client_ca();
    config["http_addr"] = json!("0.0.0.0:0");
    config["http_hosts"] = json!(["127.0.0.1"]);
    let server = start(directory, config);
    let billing = server.authority.issue_to("billing.internal");
    let options = Options::of(&server).showing(&billing);
    let address = ([127, 0, 0, 1], server.http().port()).into();
    let dead = |headers: &str| {
        let answer = crate::http::get_with(&options, address, "/v1/dead/mail", headers);
        answer.unwrap().status
    };
    assert_eq!(dead(""), 401);
    assert_eq!(dead(&format!("authorization: Bearer {secret}\r\n")), 200);
}
