//! A server with tokens, and requests to its `/v1`.

use std::{
    fs,
    ops::Deref,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use testkit::{Peer, Server as Running, http::Answer, process::run, server::alone};

use crate::server::Server;

/// A server with three tokens.
pub(crate) struct Guarded {
    server: Server,
    /// Everything on every route.
    pub(crate) admin: String,
    /// To schedule on routes that begin with `mail`.
    pub(crate) schedule: String,
    /// To look into the route `mail` only.
    pub(crate) local: String,
}

impl Guarded {
    #[track_caller]
    pub(crate) fn start(config: Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("tokens.json");
        let all = ["schedule", "consume", "admin"];
        let admin = new_token(&file, "ops", &all, "*");
        let schedule = new_token(&file, "billing", &["schedule"], "mail*");
        let local = new_token(&file, "postmaster", &["admin"], "mail");
        let mut fields = json!({"tokens": file});
        fields
            .as_object_mut()
            .unwrap()
            .extend(config.as_object().unwrap().clone());
        Self {
            server: Server::start_in(directory, fields),
            admin,
            schedule,
            local,
        }
    }

    /// A connection with all rights.
    pub(crate) fn known_peer(&self) -> Peer {
        let running: &Running = &self.server;
        let mut peer = running.peer();
        let auth = json!({"kind": "auth", "token": self.admin});
        let reply = peer.ask(&auth.to_string());
        assert_eq!(reply["kind"], "authenticated", "{reply}");
        peer
    }

    /// Asks with the token of everything.
    #[track_caller]
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        call(&self.server, method, path, Some(&self.admin), body)
    }

    /// Asks with the token of everything, and returns the reply.
    #[track_caller]
    pub(crate) fn reply(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let answer = self.call(method, path, body);
        assert_eq!(answer.status, 200, "{answer:?}");
        json_of(&answer)
    }

    /// Revokes the token of everything, and waits until the server knows.
    pub(crate) fn revoke_admin(&self) {
        let file = self.directory().join("tokens.json");
        let id = self.admin.split('_').nth(1).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyper-delay"));
        command.args(["token", "revoke", id, "--file"]).arg(file);
        alone(&mut command, self.directory());
        run(command.stdout(Stdio::piped()).stderr(Stdio::piped()), b"").done();
        self.signal("HUP");
        self.logs("the configuration was reloaded");
    }
}

impl Deref for Guarded {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

fn new_token(file: &Path, name: &str, rights: &[&str], route: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyper-delay"));
    command.args(["token", "new", "--name", name, "--route", route, "--file"]);
    command.arg(file);
    for right in rights {
        command.args(["--right", right]);
    }
    alone(&mut command, file.parent().unwrap());
    let made = run(command.stdout(Stdio::piped()).stderr(Stdio::piped()), b"").done();
    assert!(fs::exists(file).unwrap());
    made.trim().to_owned()
}

/// Sends a request of `/v1`.
#[track_caller]
pub(crate) fn call(
    server: &Server,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: Option<Value>,
) -> Answer {
    let headers = token.map_or_else(String::new, |token| {
        format!("authorization: Bearer {token}\r\n")
    });
    send(
        server,
        method,
        path,
        &headers,
        &body.map_or_else(String::new, |body| body.to_string()),
    )
}

/// Sends a request with these headers, each with its `\r\n`, and a body of JSON.
#[track_caller]
pub(crate) fn send(server: &Server, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let kind = match method {
        "POST" if !headers.contains("content-type") => "content-type: application/json\r\n",
        _ => "",
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\n{headers}{kind}content-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        server.http,
        body.len(),
    );
    testkit::http::ask(server.http, &request)
}

/// The body of an answer.
#[track_caller]
pub(crate) fn json_of(answer: &Answer) -> Value {
    assert_eq!(answer.header("content-type"), Some("application/json"));
    serde_json::from_str(&answer.body).unwrap()
}

/// The status and the code of an error.
#[track_caller]
pub(crate) fn error(answer: &Answer) -> (u16, String) {
    let error = json_of(answer)["error"].take();
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|text| text.contains(':')),
        "{answer:?}"
    );
    (answer.status, error["code"].as_str().unwrap().to_owned())
}
