//! The news of the keys below `/hd/`.

use std::{collections::BTreeMap, time::Duration};

use etcd_client::{Event, EventType, WatchOptions, WatchResponse, WatchStream};
use tokio::time::{Timeout, timeout};

use super::{
    endpoint::Call,
    error::EtcdError,
    key::{self, Key},
    value,
};
use crate::cluster::log::News;

/// Why a watch has ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum WatchEnded {
    /// An error.
    #[error(transparent)]
    Etcd(#[from] EtcdError),
    /// etcd ended it, for example because it cannot keep up, or has no leader.
    #[error("etcd ended the watch: {0}")]
    Canceled(String),
    /// etcd has said nothing, though it was asked.
    #[error("no sign of life in {0:?}")]
    Silent(Duration),
}

impl From<etcd_client::Error> for WatchEnded {
    fn from(error: etcd_client::Error) -> Self {
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
        Ok(mut stream) => loop {
            match next(&mut stream, patience).await {
                Ok(response) => news(response.events(), tell, &complain),
                Err(ended) => return ended,
            }
        },
        Err(ended) => ended,
    }
}

fn within<F: IntoFuture>(patience: Duration, future: F) -> Timeout<F::IntoFuture> {
    timeout(patience, future)
}

async fn begin(call: &Call, patience: Duration) -> Result<WatchStream, WatchEnded> {
    let options = WatchOptions::new().with_prefix().with_fragment();
    let begin = async {
        let client = call.client().await.map_err(EtcdError::from)?;
        let mut watches = client.watch_client();
        let mut stream = watches.watch(key::ALL, Some(options)).await?;
        message(&mut stream).await?;
        Ok(stream)
    };
    let begun = within(patience, begin).await;
    begun.unwrap_or(Err(WatchEnded::Silent(patience)))
}

async fn next(stream: &mut WatchStream, patience: Duration) -> Result<WatchResponse, WatchEnded> {
    if let Ok(message) = within(patience, message(stream)).await {
        return message;
    }
    let ask = async {
        stream.request_progress().await?;
        message(stream).await
    };
    let message = within(patience, ask).await;
    message.unwrap_or(Err(WatchEnded::Silent(2 * patience)))
}

/// # Cancel safety
///
/// Nothing is lost.
async fn message(stream: &mut WatchStream) -> Result<WatchResponse, WatchEnded> {
    match stream.message().await? {
        Some(message) if message.canceled() => {
            Err(WatchEnded::Canceled(match message.compact_revision() {
                0 => message.cancel_reason().to_owned(),
                revision => format!("it is behind revision {revision}, which is the oldest kept"),
            }))
        }
        Some(message) => Ok(message),
        None => Err(WatchEnded::Canceled("the connection was closed".into())),
    }
}

/// Tells what the events of one response mean: entries of a shard together, if nothing about its
/// leader is between them.
fn news(events: &[Event], tell: &mut impl FnMut(News), complain: &impl Fn(&EtcdError)) {
    let mut all: Vec<News> = Vec::new();
    // The places in `all` of entries that can be followed by more.
    let mut open = BTreeMap::new();
    let mut members_changed = false;
    for event in events {
        let Some(kv) = event.kv() else { continue };
        let is_put = event.event_type() == EventType::Put;
        match Key::parse(kv.key()) {
            Some(Key::Entry(shard, seq)) if is_put => {
                let entry = (seq, kv.value().into());
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
                        let revision = kv.mod_revision().cast_unsigned();
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
