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
