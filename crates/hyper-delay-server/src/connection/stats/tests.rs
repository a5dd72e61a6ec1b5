use super::*;
use hyper_delay_engine::{
    ledger::{Ledger, Op, ScheduleOrder},
    sizes::Sizes,
};
use hyper_delay_protocol::Compression;
use hyper_delay_store::{Durability, fake::Fake};

#[test]
fn routes_on_disk_beyond_a_page_are_announced() {
    let store = Arc::new(Fake::default());
    let mut ledger = Ledger::open(store.clone(), 0, Sizes::SMALL).unwrap();
    for (routes, more) in [(Stats::MAX_ROUTES, false), (Stats::MAX_ROUTES + 1, true)] {
        for number in 0..routes {
            let order = ScheduleOrder {
                route: number.to_string().into(),
                id: "1".into(),
                named: true,
                at: 1,
                fire_at: 1,
                delay_ms: None,
                compression: Compression::None,
                payload: Box::default(),
                replace: false,
                headers: hyper_delay_protocol::Headers::default(),
                terms: None,
            };
            ledger.apply(&Op::Schedule(order), 0).unwrap();
        }
        ledger.commit(Durability::Written, 0).unwrap();
        let (stats, _) = counts(&LedgerView::new(store.clone()), None, |_| true).unwrap();
        assert_eq!((stats.routes.len(), stats.more), (Stats::MAX_ROUTES, more));
    }
}
