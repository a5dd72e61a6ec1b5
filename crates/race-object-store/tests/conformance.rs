//! The tests of `object_store` for any store, with three attempts of each read at once.

use std::{sync::Arc, time::Duration};

use object_store::{
    integration as any_store,
    memory::InMemory,
    throttle::{ThrottleConfig, ThrottledStore},
};
use race_core::observe::Counters;
use race_object_store::tokio::HedgedStore;

#[tokio::test(start_paused = true)]
async fn hedged_store_passes_the_tests_of_any_store() {
    let slow_reads = ThrottleConfig {
        wait_get_per_call: Duration::from_millis(10),
        ..ThrottleConfig::default()
    };
    let counters = Arc::new(Counters::new());
    let inner = ThrottledStore::new(InMemory::new(), slow_reads);
    let store = HedgedStore::new(inner, Duration::ZERO)
        .max_attempts(3)
        .observer(counters.clone());

    any_store::put_get_delete_list(&store).await;
    any_store::list_with_offset_exclusivity(&store).await;
    any_store::get_opts(&store).await;
    any_store::list_uses_directories_correctly(&store).await;
    any_store::list_with_delimiter(&store).await;
    any_store::rename_and_copy(&store).await;
    any_store::copy_if_not_exists(&store).await;
    any_store::copy_rename_nonexistent_object(&store).await;
    any_store::stream_get(&store).await;
    any_store::put_opts(&store, true).await;
    any_store::put_get_attributes(&store).await;

    let counts = counters.counts();
    assert!(counts.races > 50, "{counts}");
    assert_eq!(counts.extra, 2 * counts.races, "{counts}");
}
