//! Transactions.

use hyper_delay_etcd::{Compare, Delete, Get, Keys, Put, Relation, Txn};

use super::{connect, etcd, shown};

#[tokio::test]
async fn transaction_takes_the_branch_of_its_comparisons() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    client.put(Put::new("a", "m")).await.unwrap();
    let read = client.get(Get::new("a")).await.unwrap();
    let revision = read.kvs()[0].mod_revision();
    let holds = async |compare: Compare| {
        let done = client.txn(Txn::new().when(compare)).await.unwrap();
        done.succeeded()
    };
    use Relation::{Equal, Greater, Less};
    for (compare, expected) in [
        (Compare::absent("a"), false),
        (Compare::absent("b"), true),
        (Compare::absent(Keys::prefix("a")), false),
        (Compare::absent(Keys::prefix("b")), true),
        (Compare::present("a"), true),
        (Compare::present("b"), false),
        (Compare::version("a", Equal, 1), true),
        (Compare::version("a", Less, 1), false),
        (Compare::version("a", Greater, 0), true),
        (Compare::mod_revision("a", Equal, revision), true),
        (Compare::mod_revision("a", Less, revision), false),
        (Compare::mod_revision("b", Equal, 0), true),
        (Compare::value("a", Equal, "m"), true),
        (Compare::value("a", Greater, "l"), true),
        (Compare::value("a", Less, "m"), false),
        (Compare::value("b", Equal, ""), false),
    ] {
        assert_eq!(holds(compare.clone()).await, expected, "{compare:?}");
    }

    let txn = |value: &'static str| {
        Txn::new()
            .when_all([Compare::present("a"), Compare::absent("b")])
            .then(Get::new("b"))
            .then(Put::new("b", value))
            .then_all([Delete::new("x"), Delete::new("y")])
            .then(Get::new(Keys::prefix("")))
            .or_else(Get::new("b"))
    };
    let done = client.txn(txn("first")).await.unwrap();
    assert!(done.succeeded());
    let written = done.revision();
    // The reads alone, in their order.
    let reads = done.into_reads();
    let reads: Vec<_> = reads.iter().map(shown).collect();
    assert_eq!(
        reads,
        [vec![], vec!["a=m".to_owned(), "b=first".to_owned()]]
    );
    let done = client.txn(txn("second")).await.unwrap();
    assert!(!done.succeeded());
    let read = done.into_reads().remove(0);
    assert_eq!(shown(&read), ["b=first"]);
    assert_eq!(read.kvs()[0].mod_revision(), written);
}

#[tokio::test]
async fn absent_keys_have_version_and_revision_0_and_no_value() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    client.put(Put::new("a/1", "m")).await.unwrap();
    client.put(Put::new("a/2", "n")).await.unwrap();
    use Relation::{Equal, Greater, Less};
    let none = || Keys::prefix("b/");
    let two = || Keys::prefix("a/");
    for (compare, expected) in [
        (Compare::version(none(), Equal, 0), true),
        (Compare::version(none(), Less, 1), true),
        (Compare::version(none(), Greater, 0), false),
        (Compare::mod_revision(none(), Equal, 0), true),
        (Compare::mod_revision(none(), Less, u64::MAX), true),
        (Compare::value(none(), Equal, ""), false),
        (Compare::value(none(), Greater, ""), false),
        (Compare::value(none(), Less, "z"), false),
        (Compare::version(two(), Equal, 1), true),
        (Compare::version(two(), Less, u64::MAX), true),
        (Compare::mod_revision(two(), Less, u64::MAX), true),
        (Compare::mod_revision(two(), Equal, u64::MAX), false),
        (Compare::value(two(), Less, "z"), true),
        (Compare::value(two(), Equal, "m"), false),
    ] {
        let done = client.txn(Txn::new().when(compare.clone())).await;
        assert_eq!(done.unwrap().succeeded(), expected, "{compare:?}");
    }
}
