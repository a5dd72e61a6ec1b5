use std::{
    fs,
    ops::Deref,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Ended, PATIENCE, Peer, Start, process::run, server::alone};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// A folder with a file of tokens.
pub(crate) struct Directory(TempDir);

/// A server with tokens in its own folder. Dropping it kills the server.
pub(crate) struct Server {
    pub(crate) running: testkit::Server,
    pub(crate) directory: Directory,
}

/// The rights and routes of a token.
pub(crate) type Given<'a> = (&'a [&'a str], &'a [&'a str]);

pub(crate) const ALL: Given<'static> = (&["schedule", "consume", "admin"], &["*"]);

impl Directory {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program in the folder, with these variables of the environment.
    pub(crate) fn run(&self, variables: &[(&str, &str)], line: &[&str]) -> Ended {
        let mut command = Command::new(PROGRAM);
        alone(&mut command, self.path());
        command
            .envs(variables.iter().copied())
            .args(line)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        run(&mut command, b"")
    }

    /// Makes a token with the command.
    pub(crate) fn token(&self, name: &str, (rights, routes): Given<'_>) -> String {
        let mut line = vec!["token", "new", "--file", "tokens.json", "--name", name];
        line.extend(rights.iter().flat_map(|right| ["--right", right]));
        line.extend(routes.iter().flat_map(|route| ["--route", route]));
        self.run(&[], &line).done().trim_end().to_owned()
    }

    pub(crate) fn revoke(&self, token: &str) {
        let revoke = ["token", "revoke", id(token), "--file", "tokens.json"];
        self.run(&[], &revoke).done();
    }

    /// Replaces the file of tokens as a whole, with its mode.
    pub(crate) fn write_tokens(&self, text: &str) {
        let (file, beside) = (self.path().join("tokens.json"), self.path().join("beside"));
        fs::copy(&file, &beside).unwrap();
        fs::write(&beside, text).unwrap();
        fs::rename(&beside, &file).unwrap();
    }

    pub(crate) fn tokens(&self) -> String {
        fs::read_to_string(self.path().join("tokens.json")).unwrap()
    }

    /// Writes these fields of a configuration, besides those of [`Server::start`].
    pub(crate) fn configure(&self, fields: Value) {
        let mut config = base();
        let Value::Object(fields) = fields else {
            panic!("{fields}")
        };
        config["bind_addr"] = json!("127.0.0.1:0");
        config.as_object_mut().unwrap().extend(fields);
        fs::write(self.path().join("config.json"), config.to_string()).unwrap();
    }
}

fn base() -> Value {
    json!({"tokens": "tokens.json", "sync": "never", "http_addr": null})
}

/// The id in a token.
pub(crate) fn id(token: &str) -> &str {
    token.split('_').nth(1).unwrap()
}

impl Server {
    /// Starts a server with these tokens, and returns them.
    pub(crate) fn with<const N: usize>(given: [Given<'_>; N]) -> (Self, [String; N]) {
        Self::configured(json!({}), given)
    }

    pub(crate) fn configured<const N: usize>(
        config: Value,
        given: [Given<'_>; N],
    ) -> (Self, [String; N]) {
        Self::logging("info", config, given)
    }

    /// Like [`configured`](Self::configured), with this filter of the log.
    pub(crate) fn logging<const N: usize>(
        filter: &str,
        config: Value,
        given: [Given<'_>; N],
    ) -> (Self, [String; N]) {
        let directory = Directory::new();
        let mut number = 0;
        let tokens = given.map(|given| {
            number += 1;
            directory.token(&format!("token {number}"), given)
        });
        let running = Start::new(PROGRAM, directory.path())
            .config(base())
            .config(config)
            .env("RUST_LOG", filter)
            .run();
        (Self { running, directory }, tokens)
    }

    /// Starts a server in the folder of another one that has ended.
    pub(crate) fn again(directory: Directory, config: Value) -> Self {
        let running = Start::new(PROGRAM, directory.path())
            .config(base())
            .config(config)
            .run();
        Self { running, directory }
    }

    /// Connects and shows a token.
    pub(crate) fn peer_with(&self, token: &str) -> Peer {
        let mut peer = self.peer();
        authenticate(&mut peer, token);
        peer
    }

    /// Reloads, and waits until the server has.
    pub(crate) fn reload(&self) {
        let count = || self.log().matches("the configuration was reloaded").count();
        let before = count();
        self.signal("HUP");
        let start = Instant::now();
        while count() == before {
            assert!(start.elapsed() < PATIENCE, "{}", self.log());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Shows a token.
pub(crate) fn authenticate(peer: &mut Peer, token: &str) {
    let reply = peer.ask(&auth(token));
    assert_eq!(reply["kind"], "authenticated", "{reply}");
}

pub(crate) fn auth(token: &str) -> String {
    format!(r#"{{"kind":"auth","token":"{token}"}}"#)
}

/// A request with a token of its own.
pub(crate) fn with_token(request: &str, token: &str) -> String {
    request.replacen('{', &format!(r#"{{"token":"{token}","#), 1)
}

impl Deref for Server {
    type Target = testkit::Server;

    fn deref(&self) -> &testkit::Server {
        &self.running
    }
}
