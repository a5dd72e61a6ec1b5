//! Values that a newer server wrote.

use std::sync::Arc;

use hyper_delay_store::{Batch, Durability, Space, Store as _, fake::Fake, record};

use crate::{ledger::Ledger, sizes::Sizes};

#[test]
fn value_of_a_newer_version_is_refused() {
    let store = Arc::new(Fake::default());
    let mut newer = record::encode(&5_u64).to_vec();
    newer[0] = record::VERSION + 1;
    let mut batch = Batch::new();
    batch.put(Space::Meta, *b"numbers", newer);
    store.commit(batch, Durability::Synced).unwrap();
    let error = Ledger::open(store, 0, Sizes::SMALL).unwrap_err();
    let wanted = "its version is 4, and this server reads 3; a newer server wrote it: start that";
    assert!(error.to_string().contains(wanted), "{error}");
    assert!(!error.is_damage(), "{error}");
}
