//! How a server ends whose store or threads fail.

mod damage;
mod fixture;

use std::{future::pending, time::Duration};

use tokio::{io::AsyncWriteExt as _, net::TcpStream, time::timeout};

use super::*;
use hyper_delay_config::Sync;
use hyper_delay_store::fake::{Fake, Syncs};

const PATIENCE: Duration = Duration::from_secs(60);

/// Serves from this store, without HTTP.
async fn serve_store(
    listener: TcpListener,
    configs: watch::Receiver<Config>,
    store: Arc<impl Store>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let frontend = Frontend::prepare(listener, configs, None, Arc::default()).await?;
    serve(frontend, store, Sizes::SMALL, shutdown).await
}

/// Serves from this store, sends a schedule, and returns the result.
async fn served(store: Arc<Fake>) -> Result<(), ServeError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_fixed, configs) = watch::channel(Config::default());
    let mut client = TcpStream::connect(address).await.unwrap();
    let line = br#"{"kind":"schedule","id":"1","route_key":"r","fire_at":0,"payload_base64":""}"#;
    client
        .write_all(&[line.as_slice(), b"\n"].concat())
        .await
        .unwrap();
    let server = serve_store(listener, configs, store, pending());
    timeout(PATIENCE, server).await.expect("it ends")
}

#[tokio::test]
async fn a_failed_last_sync_is_an_error() {
    let store = Arc::new(Fake::default());
    store.set_syncs(Syncs::Fail);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = Config {
        sync: Sync::Never,
        ..Config::default()
    };
    let (_fixed, configs) = watch::channel(config);
    let server = serve_store(listener, configs, store, async {});
    let result = timeout(PATIENCE, server).await.expect("it ends");
    assert!(matches!(result, Err(ServeError::Store(_))), "{result:?}");
}

#[tokio::test]
async fn a_failed_sync_ends_the_server() {
    let store = Arc::new(Fake::default());
    store.set_syncs(Syncs::Fail);
    let result = served(store).await;
    assert!(matches!(result, Err(ServeError::Store(_))), "{result:?}");
}

#[tokio::test]
async fn a_failed_look_at_the_disk_ends_the_server() {
    let store = Arc::new(Fake::default());
    store.fail_disk_space_checks();
    let result = served(store).await;
    assert!(matches!(result, Err(ServeError::Store(_))), "{result:?}");
}

#[tokio::test]
async fn a_panic_of_the_writer_ends_the_server_and_names_it() {
    let store = Arc::new(Fake::default());
    store.set_syncs(Syncs::Panic);
    let result = served(store).await;
    assert!(
        matches!(result, Err(ServeError::Panicked("writer"))),
        "{result:?}"
    );
}
