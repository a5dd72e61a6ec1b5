//! A hedged store as an `ObjectStore`: shared, boxed, wrapped, spawned; and with each timer.

use std::{sync::Arc, time::Duration};

use futures::executor::block_on;
use object_store::{
    Error, ObjectStore, ObjectStoreExt as _, memory::InMemory, prefix::PrefixStore,
};
use race_core::{
    Timer,
    observe::{Clock, Counters, Traced},
};
use race_object_store::{AdaptiveDelays, GenericHedgedStore, TimeoutError, tokio::HedgedStore};
use tokio::runtime::Handle;

use crate::slow::{HANGS, Slow, TEXT, after};

const DELAY: Duration = Duration::from_millis(50);

async fn put_and_get(store: Arc<dyn ObjectStore>) -> anyhow::Result<()> {
    let path = "a/b".into();
    store.put(&path, "text".into()).await?;
    let spawned = store.clone();
    let read = tokio::spawn(async move { spawned.get(&"a/b".into()).await?.bytes().await });
    assert_eq!(read.await??, "text");
    assert_eq!(store.get_ranges(&path, &[0..2, 3..4]).await?, ["te", "t"]);
    assert_eq!(store.head(&path).await?.size, 4);
    Ok(())
}

#[tokio::test]
async fn hedged_stores_are_stores() -> anyhow::Result<()> {
    let memory: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let hedged = HedgedStore::new(memory, DELAY);
    put_and_get(Arc::new(hedged.clone())).await?;
    put_and_get(Arc::new(PrefixStore::new(hedged, "within"))).await?;

    let delays = AdaptiveDelays::extra_load(5.0);
    let observed = HedgedStore::new(InMemory::new(), delays.clone())
        .observer((Arc::new(Counters::new()), Traced::new()));
    put_and_get(Arc::new(observed)).await?;
    put_and_get(Arc::new(race_object_store::HedgedStore::new(
        InMemory::new(),
        delays,
    )))
    .await
}

/// Hedges one read and the body of another one, and lets a third one time out.
async fn hedge_and_time_out<T>(hedged: fn(Slow, Duration) -> GenericHedgedStore<Slow, T, Duration>)
where
    T: Timer + Clock + Clone + Unpin + Send + Sync + 'static,
{
    let slow = Slow::new([after(HANGS), after(0)]);
    let store = hedged(slow.clone(), DELAY);
    let read = store.get(&"a".into()).await.unwrap();
    assert_eq!(read.bytes().await.unwrap(), TEXT);
    assert_eq!((slow.reads().len(), slow.dropped().len()), (2, 1));

    let slow = Slow::new([after(0).stalls_at(1, HANGS), after(0)]);
    let store = hedged(slow.clone(), DELAY);
    let read = store.get(&"a".into()).await.unwrap();
    assert_eq!(read.bytes().await.unwrap(), TEXT);
    assert_eq!((slow.reads().len(), slow.dropped().len()), (2, 1));

    let slow = Slow::new([after(HANGS)]);
    let store = hedged(slow, DELAY).max_attempts(1).deadline(DELAY);
    let error = store.get(&"a".into()).await.unwrap_err();
    let Error::Generic { source, .. } = error else {
        panic!("{error}");
    };
    let timeout = source.downcast_ref::<TimeoutError>().unwrap();
    assert!(matches!(timeout, TimeoutError::Deadline { .. }));
}

#[tokio::test]
async fn tokio_timer_hedges() {
    hedge_and_time_out(HedgedStore::new).await;
}

#[test]
fn other_timers_hedge_on_any_executor() {
    assert!(Handle::try_current().is_err(), "no runtime is entered");
    block_on(hedge_and_time_out(race_object_store::HedgedStore::new));
    block_on(hedge_and_time_out(
        race_object_store::smol::HedgedStore::new,
    ));
    block_on(hedge_and_time_out(
        race_object_store::async_io::HedgedStore::new,
    ));
}
