//! Looks at files that change, on a clock that moves when everything waits.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::{Mutex, PoisonError},
    time::UNIX_EPOCH,
};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tempfile::TempDir;
use tokio::{task::JoinHandle, time::sleep};
use tracing::subscriber::DefaultGuard;

use super::*;
use hyper_delay_protocol::access::{Right, TokenEntry, TokenFile};

/// The log of a test.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn count(&self, text: &str) -> usize {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).matches(text).count()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A reloader that runs, with files of its own.
struct World {
    directory: TempDir,
    updates: mpsc::Receiver<ServerUpdate>,
    log: Log,
    running: JoinHandle<()>,
    _configs: watch::Sender<Config>,
    _logging: DefaultGuard,
}

impl Drop for World {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl World {
    async fn start() -> Self {
        let log = Log::default();
        let written = log.clone();
        let logging = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || written.clone())
            .finish();
        let logging = tracing::subscriber::set_default(logging);
        let directory = tempfile::tempdir().unwrap();
        let path = |name| directory.path().join(name);
        write_identity(directory.path(), &identity(4_000));
        write_tokens(&path("tokens.json"));
        let config = Config {
            tls: Some(TlsFiles {
                cert: path("cert.pem"),
                key: path("key.pem"),
                client_ca: None,
            }),
            tokens: Some(path("tokens.json")),
            ..Config::default()
        };
        let (configs, receiver) = watch::channel(config);
        let (sender, updates) = mpsc::channel(1);
        let address = "127.0.0.1:1".parse().unwrap();
        let start = Reloader::start(receiver, address, sender, Arc::default());
        let (reloader, _, _) = start.await.unwrap();
        Self {
            directory,
            updates,
            log,
            running: tokio::spawn(reloader.run()),
            _configs: configs,
            _logging: logging,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// A certificate in PEM, and its key.
struct Identity {
    cert: String,
    key: String,
}

/// Issues a certificate that ends this many days from now.
fn identity(days: u32) -> Identity {
    let day = Duration::from_secs(24 * 60 * 60);
    let end = UNIX_EPOCH.elapsed().unwrap() + days * day;
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(1970, 1, 1) + end;
    let key = KeyPair::generate().unwrap();
    Identity {
        cert: params.self_signed(&key).unwrap().pem(),
        key: key.serialize_pem(),
    }
}

fn write_identity(directory: &Path, identity: &Identity) {
    fs::write(directory.join("cert.pem"), &identity.cert).unwrap();
    fs::write(directory.join("key.pem"), &identity.key).unwrap();
}

/// Adds a token to the file.
fn write_tokens(path: &Path) {
    let mut file = TokenFile::read_or_new(path).unwrap();
    let routes = vec!["*".to_owned()];
    let entry = TokenEntry::new("name".to_owned(), vec![Right::Admin], routes);
    file.add(entry.unwrap().0).unwrap();
    file.write().unwrap();
}

/// Lets the reloader look this many times.
async fn wait_for_checks(number: u32) {
    sleep(number * PERIOD + PERIOD / 100).await;
}

#[tokio::test(start_paused = true)]
async fn files_that_do_not_change_are_neither_reported_nor_sent() {
    let mut world = World::start().await;
    wait_for_checks(3).await;
    world.updates.try_recv().unwrap_err();
    assert_eq!(world.log.count("have changed"), 0);
    assert_eq!(world.log.count("has changed"), 0);
}

#[tokio::test(start_paused = true)]
async fn tls_files_that_become_invalid_are_reported_once_and_the_old_ones_stay_in_force() {
    const REPORT: &str = "were not reloaded: the old ones stay in force";
    let mut world = World::start().await;
    let renewed = identity(4_000);
    // Only the key: it does not belong to the certificate.
    fs::write(world.path("key.pem"), &renewed.key).unwrap();
    wait_for_checks(1).await;
    assert_eq!(world.log.count(REPORT), 1);
    assert_eq!(world.log.count("which does not belong"), 1);
    wait_for_checks(2).await;
    assert_eq!(world.log.count(REPORT), 1);
    world.updates.try_recv().unwrap_err();
    // The certificate follows, and everything is valid again.
    fs::write(world.path("cert.pem"), &renewed.cert).unwrap();
    wait_for_checks(2).await;
    assert!(matches!(
        world.updates.try_recv().unwrap(),
        ServerUpdate::Tls(_)
    ));
    world.updates.try_recv().unwrap_err();
    assert_eq!(world.log.count(REPORT), 1);
}

#[tokio::test(start_paused = true)]
async fn file_of_tokens_that_becomes_invalid_is_reported_once_and_the_old_tokens_stay_in_force() {
    const REPORT: &str = "was not reloaded: the old tokens stay in force";
    let mut world = World::start().await;
    let path = world.path("tokens.json");
    let valid = fs::read(&path).unwrap();
    fs::write(&path, "{\"tokens\":[{}]}").unwrap();
    wait_for_checks(1).await;
    assert_eq!(world.log.count(REPORT), 1);
    wait_for_checks(2).await;
    assert_eq!(world.log.count(REPORT), 1);
    world.updates.try_recv().unwrap_err();
    fs::write(&path, valid).unwrap();
    wait_for_checks(2).await;
    let update = world.updates.try_recv().unwrap();
    assert!(matches!(update, ServerUpdate::Tokens(_)));
    world.updates.try_recv().unwrap_err();
    assert_eq!(world.log.count(REPORT), 1);
}

#[tokio::test(start_paused = true)]
async fn new_certificate_that_expires_soon_is_reported_once() {
    const REPORT: &str = "in less than 14 days: renew it";
    let mut world = World::start().await;
    wait_for_checks(1).await;
    assert_eq!(world.log.count(REPORT), 0);
    write_identity(world.directory.path(), &identity(13));
    wait_for_checks(1).await;
    assert!(matches!(
        world.updates.try_recv().unwrap(),
        ServerUpdate::Tls(_)
    ));
    assert_eq!(world.log.count(REPORT), 1);
    wait_for_checks(2).await;
    assert_eq!(world.log.count(REPORT), 1);
}
