//! A hedged store where stores are: shared, boxed, spawned, on each runtime's timer.

use std::{sync::Arc, time::Duration};

use object_store::{ObjectStore, ObjectStoreExt as _, memory::InMemory, prefix::PrefixStore};
use race_core::{Counters, Traced};
use race_object_store::{AdaptiveDelays, TimeoutError, tokio::HedgedStore};

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

#[tokio::test]
async fn thread_timer_needs_no_runtime_of_its_own() {
    let slow = crate::slow::Slow::new([crate::slow::after(crate::slow::HANGS)]);
    let store = race_object_store::HedgedStore::new(slow, DELAY)
        .max_attempts(1)
        .deadline(Duration::from_millis(30));
    let error = store.get(&"a".into()).await.unwrap_err();
    let object_store::Error::Generic { source, .. } = error else {
        panic!("{error}");
    };
    let timeout = source.downcast_ref::<TimeoutError>().unwrap();
    assert!(matches!(timeout, TimeoutError::Deadline { .. }));
}
