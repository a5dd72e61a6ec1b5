use std::sync::mpsc;

use tokio::sync::{Semaphore, watch};

use super::*;
use crate::connection::UnfinishedLines;
use hyper_delay_config::Config;
use hyper_delay_engine::clock::Clock;
use hyper_delay_store::{Bytes, Snapshot, Space, Visit, fake::Fake};

/// A store in which a block is damaged.
struct Damaged;

impl ReadStore for Damaged {
    fn get(&self, _: Space, _: &[u8]) -> Result<Option<Bytes>, StoreError> {
        unreachable!("only snapshots are read")
    }

    fn scan(&self, _: Space, _: &[u8], _: &mut Visit<'_>) -> Result<(), StoreError> {
        unreachable!("only snapshots are read")
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let row = || Ok((Space::Tasks, Bytes::new(b"k"), Bytes::new(&[7; 1_000])));
        let rows = (0..100).map(move |_| row());
        let damage = std::iter::once_with(|| Err(StoreError::damage("read", "a block")));
        Ok(Snapshot {
            commit: 1,
            rows: Box::new(rows.chain(damage)),
        })
    }
}

fn shared() -> Arc<ConnectionContext<Fake>> {
    shared_with(Fake::default())
}

fn shared_with<S>(store: S) -> Arc<ConnectionContext<S>> {
    let config = Arc::new(Config::default());
    Arc::new(ConnectionContext {
        store: Arc::new(store),
        unfinished: Arc::new(UnfinishedLines::new(config.max_unfinished_bytes)),
        config,
        events: mpsc::channel().0.into(),
        clock: Clock::new(),
        freshness: Default::default(),
        ending: watch::channel(false).1,
        logs: Arc::default(),
        backups: Arc::new(Semaphore::new(MAX_BACKUPS)),
        metrics: Arc::default(),
        tls: None,
        tokens: watch::channel(None).1,
        failures: Arc::default(),
    })
}

fn code(reply: &Reply) -> Option<Code> {
    match reply {
        Reply::Error(refusal) => Some(refusal.code),
        _ => None,
    }
}

#[tokio::test]
async fn another_machine_gets_no_backup() {
    let shared = shared();
    let mut backup = BackupSession::default();
    for offset in [0, 12] {
        let reply = backup.piece(&shared, false, offset).await.unwrap();
        assert_eq!(code(&reply), Some(Code::Forbidden));
    }
    assert_eq!(shared.backups.available_permits(), MAX_BACKUPS);
}

#[tokio::test]
async fn damage_ends_the_backup_with_an_error() {
    let shared = shared_with(Damaged);
    let mut backup = BackupSession::default();
    let mut offset = 0;
    let error = loop {
        match backup.piece(&shared, true, offset).await {
            Ok(Reply::Backup { data, more, .. }) => {
                assert!(more, "it must not look complete");
                offset += data.len() as u64;
            }
            Ok(reply) => panic!("{reply:?}"),
            Err(error) => break error,
        }
    };
    assert!(error.is_damage() && offset > 0, "{error}");
    let next = backup.piece(&shared, true, offset).await.unwrap();
    assert_eq!(code(&next), Some(Code::BadField));
    assert_eq!(shared.backups.available_permits(), MAX_BACKUPS);
}

#[tokio::test]
async fn a_backup_without_requests_is_dropped() {
    let shared = shared();
    let mut backup = BackupSession {
        idle_timeout: Duration::from_millis(1),
        ..BackupSession::default()
    };
    let reply = backup.piece(&shared, true, 0).await.unwrap();
    let Reply::Backup { data, more, .. } = reply else {
        panic!("{reply:?}");
    };
    assert!(more);
    let _all = shared
        .backups
        .acquire_many(MAX_BACKUPS as u32)
        .await
        .unwrap();
    let next = backup.piece(&shared, true, data.len() as u64).await;
    assert_eq!(code(&next.unwrap()), Some(Code::BadField));
}

#[test]
fn a_piece_fits_into_the_shortest_line() {
    for line in [1_024, 65_536, 16 << 20] {
        let data = vec![0; piece_bytes(line)].into();
        let reply = Reply::Backup {
            offset: 1 << 53,
            data,
            more: false,
        };
        let mut bytes = Vec::new();
        reply.encode(Some(&"t".repeat(128)), &mut bytes);
        assert!(bytes.len() <= line, "{line}: {}", bytes.len());
    }
}
