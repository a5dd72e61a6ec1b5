//! The news of the keys below `/hd/`.

use std::{collections::BTreeMap, time::Duration};

use hyper_delay_etcd::{Event, Keys, Watch};
use tokio::time::timeout;

use super::{
    endpoint::Call,
    error::EtcdError,
    key::{self, Key},
    value,
};
use crate::log::News;

/// Why a watch has ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum WatchEnded {
    /// An error, or etcd ended it, for example because it cannot keep up, or has no leader.
    #[error(transparent)]
    Etcd(#[from] EtcdError),
    /// etcd has said nothing, though it was asked.
    #[error("no sign of life in {0:?}")]
    Silent(Duration),
}

impl From<hyper_delay_etcd::Error> for WatchEnded {
    fn from(error: hyper_delay_etcd::Error) -> Self {
        Self::Etcd(error.into())
    }
}

/// Tells the news that one member of etcd has, from now on, and what of it cannot be read. Returns
/// why it ended.
///
/// A member that is cut off from the majority has no leader, and ends the watch, because the
/// connection requires one. A member that has stopped ends nothing, so it is asked for a sign of
/// life if it says nothing for `patience`.
pub(super) async fn follow(
    call: &Call,
    patience: Duration,
    tell: &mut (impl FnMut(News) + Send),
    complain: impl Fn(&EtcdError) + Send,
) -> WatchEnded {
    match begin(call, patience).await {
        Ok(mut watch) => loop {
            match next(&mut watch, patience).await {
                Ok(events) => news(&events, tell, &complain),
                Err(ended) => return ended,
            }
        },
        Err(ended) => ended,
    }
}

async fn begin(call: &Call, patience: Duration) -> Result<Watch, WatchEnded> {
    let begin = async {
        let client = call.client().await.map_err(EtcdError::from)?;
        Ok(client.watch(Keys::prefix(key::ALL)).await?)
    };
    let begun = timeout(patience, begin).await;
    begun.unwrap_or(Err(WatchEnded::Silent(patience)))
}

async fn next(watch: &mut Watch, patience: Duration) -> Result<Vec<Event>, WatchEnded> {
    if let Ok(events) = timeout(patience, watch.next()).await {
        return Ok(events?);
    }
    let ask = async {
        watch.request_progress().await?;
        Ok(watch.next().await?)
    };
    let events = timeout(patience, ask).await;
    events.unwrap_or(Err(WatchEnded::Silent(2 * patience)))
}

/// Tells what the events of one response mean: entries of a shard together, if nothing about its
/// leader is between them.
fn news(events: &[Event], tell: &mut impl FnMut(News), complain: &impl Fn(&EtcdError)) {
    let mut all: Vec<News> = Vec::new();
    // The places in `all` of entries that can be followed by more.
    let mut open = BTreeMap::new();
    let mut members_changed = false;
    for event in events {
        let kv = event.kv();
        let is_put = matches!(event, Event::Put(_));
        match Key::parse(kv.key()) {
            Some(Key::Entry(shard, seq)) if is_put => {
                let entry = (seq, kv.value()[..].into());
                if let Some(&place) = open.get(&shard)
                    && let Some(News::Entries(_, entries)) = all.get_mut::<usize>(place)
                    && entries.last().is_some_and(|(last, _)| last + 1 == seq)
                {
                    entries.push(entry);
                } else {
                    open.insert(shard, all.len());
                    all.push(News::Entries(shard, vec![entry]));
                }
            }
            Some(Key::Lead(shard)) => {
                let leader = is_put.then(|| value::leader(kv)).transpose();
                match leader {
                    Ok(leader) => {
                        open.remove(&shard);
                        let revision = kv.mod_revision();
                        all.push(News::Leader(shard, leader, revision));
                    }
                    Err(error) => complain(&error),
                }
            }
            Some(Key::Node(_)) => members_changed = true,
            _ => {}
        }
    }
    all.into_iter().for_each(&mut *tell);
    if members_changed {
        tell(News::Members);
    }
}
