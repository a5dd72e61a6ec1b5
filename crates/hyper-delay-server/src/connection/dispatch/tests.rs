//! Who gets a backup.

use std::{net::IpAddr, sync::mpsc};

use tokio::sync::{Semaphore, watch};

use super::*;
use crate::connection::{MAX_BACKUPS, UnfinishedLines};
use hyper_delay_config::Config;
use hyper_delay_engine::clock::Clock;
use hyper_delay_protocol::{
    access::{Grant, Tokens},
    parse,
};
use hyper_delay_store::fake::Fake;

const HERE: &str = "127.0.0.1";
const THERE: &str = "192.0.2.1";

/// What the holder of a certificate with this name may do: `admin` on `*`, or on `mail*`.
fn grant(certificate: &str) -> Arc<Grant> {
    let entry = |id: &str, name: &str, route: &str| {
        serde_json::json!({
            "id": id, "name": name, "certificate": name, "rights": ["admin"], "routes": [route],
        })
    };
    let all = entry("000000000001", "all", "*");
    let some = entry("000000000002", "some", "mail*");
    let file = serde_json::json!({ "tokens": [all, some] }).to_string();
    let tokens = Tokens::from_json("tokens.json".as_ref(), &file).unwrap();
    tokens
        .grant_of_certificate(&[certificate.to_owned()])
        .unwrap()
}

/// Asks for a backup from this address. Returns the code of the error, if it is refused.
async fn backup(from: &str, grant: Option<Arc<Grant>>) -> Option<Code> {
    let (events, _inbox) = mpsc::channel();
    let config = Arc::new(Config::default());
    let shared = Arc::new(ConnectionContext {
        store: Arc::new(Fake::default()),
        unfinished: Arc::new(UnfinishedLines::new(config.max_unfinished_bytes)),
        config,
        events: events.into(),
        clock: Clock::new(),
        freshness: Default::default(),
        ending: watch::channel(false).1,
        logs: Arc::default(),
        backups: Arc::new(Semaphore::new(MAX_BACKUPS)),
        metrics: Arc::default(),
        tls: None,
        tokens: watch::channel(None).1,
        failures: Arc::default(),
    });
    let from: IpAddr = from.parse().unwrap();
    let slot = Slot::of_one_shot(from);
    let outbox = Arc::new(ConnectionOutbox::new(
        1,
        shared.events.reports(),
        8,
        shared.clock,
    ));
    let authentication = Authentication::of_one_shot(&shared, &slot, grant);
    let mut requests = RequestDispatcher::new(&shared, (1, &outbox), authentication, &slot, None);
    let line = parse(br#"{"kind":"backup"}"#).unwrap();
    requests.dispatch(Ok(line), 1, 1).await;
    let messages = outbox.take_all().await.unwrap();
    match &messages[..] {
        [
            ConsumerMessage::Reply {
                reply: Reply::Backup { offset: 0, .. },
                ..
            },
        ] => None,
        [
            ConsumerMessage::Reply {
                reply: Reply::Error(refusal),
                ..
            },
        ] => Some(refusal.code),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn without_tokens_a_backup_is_for_this_machine_only() {
    assert_eq!(backup(HERE, None).await, None);
    assert_eq!(backup("::1", None).await, None);
    assert_eq!(backup(THERE, None).await, Some(Code::Forbidden));
    assert_eq!(backup("2001:db8::1", None).await, Some(Code::Forbidden));
}

#[tokio::test]
async fn a_token_gets_a_backup_from_every_address() {
    for from in [HERE, THERE, "2001:db8::1"] {
        assert_eq!(backup(from, Some(grant("all"))).await, None, "{from}");
        let refused = backup(from, Some(grant("some"))).await;
        assert_eq!(refused, Some(Code::Forbidden), "{from}");
    }
}
