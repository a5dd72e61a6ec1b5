//! The rows of operators: pauses, bulk operations and the audit.

use std::sync::Arc;

use super::fixture::TestDirectory;
use crate::salvage::repair;
use hyper_delay_engine::{
    ledger::{Actor, AuditedOp, Ledger, LedgerView, NewBulkJob, Op},
    sizes::Sizes,
};
use hyper_delay_fjall::Embedded;
use hyper_delay_protocol::{BulkAct, BulkMove, BulkMoveTo, Filter, TaskState};
use hyper_delay_store::{Batch, Durability, Space, Store as _, record::key};

/// A store with a paused route and two running bulk operations.
fn directory() -> TestDirectory {
    let directory = TestDirectory::new(true);
    let store = Arc::new(Embedded::open(directory.path()).unwrap());
    let mut ledger = Ledger::open(store.clone(), 1_000, Sizes::SMALL).unwrap();
    let purge = NewBulkJob {
        act: BulkAct::Purge,
        route: "north".into(),
        filter: Filter::default(),
        in_flight: false,
        at: 7,
        actor: Actor::default(),
    };
    let moves = NewBulkJob {
        act: BulkAct::Move(BulkMove {
            to: BulkMoveTo::Later(8),
            state: Some(TaskState::Retrying),
        }),
        ..purge.clone()
    };
    for op in [
        Op::Pause("north".into()),
        Op::BeginBulk(Box::new(purge)),
        Op::BeginBulk(Box::new(moves)),
    ] {
        let actor = Actor::default();
        let audited = Op::Audited(Box::new(AuditedOp { op, actor }));
        ledger.apply(&audited, 1_000_000).unwrap();
    }
    ledger.commit(Durability::Synced, 1_000_000).unwrap();
    directory
}

#[test]
fn a_repair_keeps_pauses_and_the_audit_and_ends_bulk_operations() {
    let directory = directory();
    assert_eq!(directory.verify(), [""; 0]);
    directory.repair();
    let new = tempfile::tempdir().unwrap();
    let to = new.path().join("repaired");
    repair(directory.path(), &to).unwrap();
    let store = Arc::new(Embedded::open(&to).unwrap());
    let ledger = Ledger::open(store.clone(), 1_000, Sizes::SMALL).unwrap();
    let paused: Vec<_> = ledger.paused().map(|route| route.to_string()).collect();
    assert_eq!(paused, ["north"]);
    assert_eq!(ledger.running_jobs().count(), 0);
    assert_eq!(LedgerView::new(store).audit().unwrap().len(), 3);
}

#[test]
fn rows_that_cannot_be_decoded_are_found_and_left_out() {
    let directory = directory();
    let store = Embedded::open(directory.path()).unwrap();
    let mut batch = Batch::new();
    batch.put(Space::Meta, [key::PAUSED, b"\xff"].concat(), *b"");
    batch.put(Space::Meta, key::audit(9), *b"\x01");
    batch.put(Space::Meta, key::job(9), *b"\x01");
    store.commit(batch, Durability::Synced).unwrap();
    drop(store);
    let findings = directory.verify();
    assert_eq!(findings.len(), 3, "{findings:?}");
    for key in ["paused/\\xff", "audit/\\x00", "job/\\x00"] {
        let is_found = |finding: &String| finding.contains(&format!("the key {key}"));
        assert!(findings.iter().any(is_found), "{key}: {findings:?}");
    }
    directory.repair();
}
