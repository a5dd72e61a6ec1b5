use std::{fs, ops::Deref, path::Path, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Start;

use crate::authority::{Authority, Identity};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// A server with TLS in its own directory. Dropping it kills the server.
pub(crate) struct Server {
    running: testkit::Server,
    pub(crate) authority: Authority,
    pub(crate) identity: Identity,
    pub(crate) directory: Directory,
}

/// A directory with the files of TLS.
pub(crate) struct Directory(TempDir);

impl Directory {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file as a program does that renews certificates: beside it, then renamed.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path().join(name);
        let beside = self.path().join("beside");
        fs::write(&beside, text).unwrap();
        fs::rename(&beside, &file).unwrap();
        file
    }

    pub(crate) fn write_identity(&self, identity: &Identity) {
        self.write("key.pem", &identity.key);
        self.write("cert.pem", &identity.cert);
    }

    /// Writes these fields of a configuration.
    pub(crate) fn configure(&self, fields: Value) {
        let mut config =
            json!({"bind_addr": "127.0.0.1:0", "http_addr": null, "tls": files(), "sync": "never"});
        let Value::Object(fields) = fields else {
            panic!("{fields}")
        };
        config.as_object_mut().unwrap().extend(fields);
        self.write("config.json", &config.to_string());
    }
}

/// The field `tls` without client certificates.
pub(crate) fn files() -> Value {
    json!({"cert": "cert.pem", "key": "key.pem"})
}

impl Server {
    /// Starts a server that asks for no client certificate.
    pub(crate) fn start() -> Self {
        Self::start_with(json!({}))
    }

    /// Starts a server that requires client certificates of its own authority.
    pub(crate) fn start_with_client_ca() -> Self {
        let tls = json!({"cert": "cert.pem", "key": "key.pem", "client_ca": "ca.pem"});
        Self::start_with(json!({ "tls": tls }))
    }

    pub(crate) fn start_with(config: Value) -> Self {
        let authority = Authority::new();
        let identity = authority.issue();
        Self::start_as(authority, identity, config)
    }

    /// Starts a server with this certificate and these fields of the configuration.
    pub(crate) fn start_as(authority: Authority, identity: Identity, config: Value) -> Self {
        Self::start_in(Directory::new(), authority, identity, config)
    }

    /// Starts a server in this directory, which may have files already.
    pub(crate) fn start_in(
        directory: Directory,
        authority: Authority,
        identity: Identity,
        config: Value,
    ) -> Self {
        directory.write("ca.pem", &authority.pem());
        directory.write_identity(&identity);
        let running = Start::new(PROGRAM, directory.path())
            .config(json!({"tls": files(), "sync": "never"}))
            .config(config)
            .run();
        Self {
            running,
            authority,
            identity,
            directory,
        }
    }

    /// Kills the server and starts another one in the same directory, at the same address.
    pub(crate) fn restart(self) -> Self {
        let address = self.running.address;
        let Self {
            running,
            authority,
            identity,
            directory,
        } = self;
        running.kill();
        let config = json!({"tls": files(), "sync": "never", "bind_addr": address.to_string()});
        let running = Start::new(PROGRAM, directory.path()).config(config).run();
        Self {
            running,
            authority,
            identity,
            directory,
        }
    }
}

impl Deref for Server {
    type Target = testkit::Server;

    fn deref(&self) -> &testkit::Server {
        &self.running
    }
}
