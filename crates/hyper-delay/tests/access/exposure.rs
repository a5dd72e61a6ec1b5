use std::fs;

use serde_json::json;
use testkit::Start;

use crate::server::{ALL, Directory, PROGRAM, Server};

/// The log of a server that does not start with this configuration.
fn refused(config: serde_json::Value) -> String {
    let directory = Directory::new();
    directory.token("one", ALL);
    let start = Start::new(PROGRAM, directory.path()).config(config);
    start.try_run().map(|_| ()).unwrap_err()
}

#[test]
fn listening_to_other_machines_without_a_proof_is_refused() {
    let log = refused(json!({"bind_addr": "0.0.0.0:0"}));
    assert!(
        log.contains("bind_addr is \"0.0.0.0:0\": other machines can reach it"),
        "{log}"
    );
    assert!(log.contains("\"open\": true"), "{log}");
    let log = refused(json!({"bind_addr": "0.0.0.0:0", "tokens": "tokens.json", "open": true}));
    assert!(
        log.contains("tokens would cross the network unencrypted: set tls"),
        "{log}"
    );
}

#[test]
fn open_server_says_so_at_every_start() {
    let directory = Directory::new();
    let config = json!({"bind_addr": "0.0.0.0:0", "open": true});
    for _ in 0..2 {
        let server = Start::new(PROGRAM, directory.path())
            .config(config.clone())
            .run();
        let line = server.logs("open: every host of allowed_hosts may do everything");
        assert!(line.contains("WARN"), "{line}");
        server.peer().quiet();
    }
    let quiet = Start::new(PROGRAM, directory.path())
        .config(json!({"open": true}))
        .run();
    quiet.peer().quiet();
    assert!(!quiet.log().contains("every host"), "{}", quiet.log());
}

#[test]
fn invalid_file_of_tokens_is_an_error_at_start_and_in_a_check() {
    let directory = Directory::new();
    let log = refused(json!({"tokens": "none.json"}));
    assert!(log.contains("none.json: cannot be read"), "{log}");
    let config = json!({"tokens": "none.json"}).to_string();
    fs::write(directory.path().join("config.json"), config).unwrap();
    let error = directory.run(&[], &["serve", "--check-config"]).failed(1);
    assert!(error.contains("none.json: cannot be read"), "{error}");
}

#[test]
fn configuration_of_the_container_is_valid_for_its_address() {
    let directory = Directory::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/container.json");
    let line = ["serve", "--check-config", "--config", file];
    let everywhere = [("HYPER_DELAY_BIND_ADDR", "0.0.0.0:7000")];
    directory.run(&everywhere, &line).done();
    let dockerfile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Dockerfile");
    let dockerfile = fs::read_to_string(dockerfile).unwrap();
    assert!(dockerfile.contains("packaging/container.json /etc/hyper-delay.json"));
}

#[cfg(unix)]
#[test]
fn a_file_of_tokens_keeps_its_owner_and_one_of_another_user_is_a_warning() {
    use std::os::unix::fs::{MetadataExt as _, chown};

    if !rustix::process::geteuid().is_root() {
        println!("NOTE: nothing is proved here: only root can give a file to another user");
        return;
    }
    let directory = Directory::new();
    let token = directory.token("one", ALL);
    let file = directory.path().join("tokens.json");
    chown(&file, Some(7_000), Some(7_001)).unwrap();
    directory.token("two", ALL);
    directory.revoke(&token);
    let after = file.metadata().unwrap();
    assert_eq!((after.uid(), after.gid()), (7_000, 7_001));
    assert_eq!(after.mode() & 0o777, 0o600);
    let server = Server::again(directory, json!({}));
    let line = server.logs("the file of tokens belongs to another user");
    assert!(line.contains("user=7000"), "{line}");
}
