//! Watches the keys below `/hd/`.

use std::{collections::BTreeMap, time::Duration};

use hyper_delay_etcd::{Event, Keys, Watch};
use tokio::time::timeout;

use super::{
    endpoint::EtcdCall,
    error::EtcdError,
    key::{self, EtcdKey},
    value,
};
use crate::log::LogEvent;

/// Why a watch has ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum WatchEndReason {
    /// An error, or etcd ended it, for example because it cannot keep up, or has no leader.
    #[error(transparent)]
    Etcd(#[from] EtcdError),
    /// etcd has said nothing, though it was asked.
    #[error("no sign of life in {0:?}")]
    Silent(Duration),
}

impl From<hyper_delay_etcd::Error> for WatchEndReason {
    fn from(error: hyper_delay_etcd::Error) -> Self {
        Self::Etcd(error.into())
    }
}

/// Passes on the events of one member of etcd, from now on, and reports unreadable ones. Returns
/// why it ended.
///
/// A member that is cut off from the majority has no leader, and ends the watch, because the
/// connection requires one. A member that has stopped ends nothing, so it is asked for a sign of
/// life if it sends nothing for `patience`.
pub(super) async fn follow(
    call: &EtcdCall,
    patience: Duration,
    tell: &mut (impl FnMut(LogEvent) + Send),
    complain: impl Fn(&EtcdError) + Send,
) -> WatchEndReason {
    match begin(call, patience).await {
        Ok(mut watch) => loop {
            match next(&mut watch, patience).await {
                Ok(events) => translate(&events, tell, &complain),
                Err(ended) => return ended,
            }
        },
        Err(ended) => ended,
    }
}

async fn begin(call: &EtcdCall, patience: Duration) -> Result<Watch, WatchEndReason> {
    let begin = async {
        let client = call.client().await.map_err(EtcdError::from)?;
        Ok(client.watch(Keys::prefix(key::ALL)).await?)
    };
    let begun = timeout(patience, begin).await;
    begun.unwrap_or(Err(WatchEndReason::Silent(patience)))
}

async fn next(watch: &mut Watch, patience: Duration) -> Result<Vec<Event>, WatchEndReason> {
    if let Ok(events) = timeout(patience, watch.next()).await {
        return Ok(events?);
    }
    let ask = async {
        watch.request_progress().await?;
        Ok(watch.next().await?)
    };
    let events = timeout(patience, ask).await;
    events.unwrap_or(Err(WatchEndReason::Silent(2 * patience)))
}

/// Translates the events of one response: entries of a shard together, if nothing about its
/// leader is between them.
fn translate(events: &[Event], tell: &mut impl FnMut(LogEvent), complain: &impl Fn(&EtcdError)) {
    let mut all: Vec<LogEvent> = Vec::new();
    // The places in `all` of entries that can be followed by more.
    let mut open = BTreeMap::new();
    let mut members_changed = false;
    for event in events {
        let kv = event.kv();
        let is_put = matches!(event, Event::Put(_));
        match EtcdKey::parse(kv.key()) {
            Some(EtcdKey::Entry(shard, seq)) if is_put => {
                let entry = (seq, kv.value()[..].into());
                if let Some(&place) = open.get(&shard)
                    && let Some(LogEvent::Entries(_, entries)) = all.get_mut::<usize>(place)
                    && entries.last().is_some_and(|(last, _)| last + 1 == seq)
                {
                    entries.push(entry);
                } else {
                    open.insert(shard, all.len());
                    all.push(LogEvent::Entries(shard, vec![entry]));
                }
            }
            Some(EtcdKey::Lead(shard)) => {
                let leader = is_put.then(|| value::decode_leader(kv)).transpose();
                match leader {
                    Ok(leader) => {
                        open.remove(&shard);
                        let revision = kv.mod_revision();
                        all.push(LogEvent::Leader(shard, leader, revision));
                    }
                    Err(error) => complain(&error),
                }
            }
            Some(EtcdKey::Node(_)) => members_changed = true,
            _ => {}
        }
    }
    all.into_iter().for_each(&mut *tell);
    if members_changed {
        tell(LogEvent::Members);
    }
}
