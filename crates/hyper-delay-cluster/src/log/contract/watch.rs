//! Events of a watch.

use std::{sync::Mutex, time::Duration};

use super::{LogClient, SHARD, entry};
use crate::log::{AppendOutcome, Log, LogEvent, Takeover};

/// Waits until something holds.
pub(crate) async fn until(mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(testkit::PATIENCE, wait).await;
    waited.expect("it holds after some time");
}

/// Runs a test while the log is watched. Events can be missing before the watch has begun, so the
/// test begins after its first event.
async fn watched<L: Log>(log: &L, test: impl AsyncFnOnce(&Mutex<Vec<LogEvent>>)) {
    let events: Mutex<Vec<LogEvent>> = Mutex::default();
    let begun = async {
        let herald = LogClient::new(log, "herald").await;
        until(async || {
            herald.join().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            herald.remove("herald").await;
            !events.lock().unwrap().is_empty()
        })
        .await;
        test(&events).await;
    };
    tokio::select! {
        () = log.watch(|event| events.lock().unwrap().push(event)) => panic!("the watch has ended"),
        () = begun => {}
    }
}

/// Returns the entries of the events, in order.
fn entries(events: &Mutex<Vec<LogEvent>>) -> Vec<(u64, String)> {
    let events = events.lock().unwrap();
    let entries = events.iter().flat_map(|event| match event {
        LogEvent::Entries(SHARD, entries) => &**entries,
        _ => &[],
    });
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    entries.map(|(seq, entry)| (*seq, text(entry))).collect()
}

pub(crate) async fn tell_entries(log: &impl Log) {
    let a = LogClient::announced(log, "a").await;
    let fence = a.fence().await;
    assert_eq!(
        a.append(fence, 1, &entry("before")).await,
        AppendOutcome::Done
    );
    watched(log, async |events| {
        for seq in 2..=20 {
            assert_eq!(
                a.append(fence, seq, &entry("it")).await,
                AppendOutcome::Done
            );
            assert_eq!(
                a.append(fence, seq, &entry("it")).await,
                AppendOutcome::Done
            );
        }
        until(async || entries(events).len() >= 19).await;
        a.trim(0, 10).await;
        assert_eq!(
            a.append(fence, 21, &entry("last")).await,
            AppendOutcome::Done
        );
        until(async || entries(events).len() >= 20).await;
        let seen = entries(events);
        let expected = (2..=20).map(|seq| (seq, "it".to_owned()));
        let expected: Vec<_> = expected.chain([(21, "last".to_owned())]).collect();
        assert_eq!(seen, expected);
    })
    .await;
}

pub(crate) async fn tell_leaders(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    watched(log, async |events| {
        let leaders = || {
            let events = events.lock().unwrap();
            let leaders = events.iter().filter_map(|event| match event {
                LogEvent::Leader(SHARD, leader, _) => Some(leader.clone()),
                _ => None,
            });
            leaders.collect::<Vec<_>>()
        };
        let leader = a.lead().await;
        until(async || leaders().contains(&leader)).await;
        a.resign(a.fence().await).await;
        until(async || leaders() == [leader.clone(), None]).await;
        let other = b.lead().await;
        until(async || leaders() == [leader.clone(), None, other.clone()]).await;
        let led = a.tail(0).await.leader.unwrap();
        let takeover = Takeover {
            epoch: led.leader.epoch,
            silence: None,
        };
        let third = a.take_over(Some(takeover)).await.map(|led| led.leader);
        let expected = [leader, None, other, third];
        until(async || leaders() == expected).await;
        let events = events.lock().unwrap();
        let revisions = events.iter().filter_map(|event| match event {
            LogEvent::Leader(SHARD, leader, revision) => {
                let epoch = leader.as_ref().map_or(0, |leader| leader.epoch);
                assert!(epoch <= *revision);
                Some(*revision)
            }
            _ => None,
        });
        assert!(revisions.is_sorted_by(|before, after| before < after));
    })
    .await;
}

pub(crate) async fn tell_members(log: &impl Log) {
    let a = LogClient::announced(log, "a").await;
    watched(log, async |events| {
        let count = || {
            let events = events.lock().unwrap();
            events
                .iter()
                .filter(|event| **event == LogEvent::Members)
                .count()
        };
        for change in 0..4 {
            // What the beginning of the watch was found by may still be on its way.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let before = count();
            match change % 2 {
                0 => a.join().await,
                _ => a.remove("a").await,
            }
            until(async || count() > before).await;
        }
    })
    .await;
}
