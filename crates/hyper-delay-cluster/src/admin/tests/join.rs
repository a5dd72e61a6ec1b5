use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::{Memory, TTL, member};
use crate::{
    admin::{Admin, JoinOutcome, PreviousMembership},
    log::Member,
};

#[tokio::test]
async fn first_node_makes_the_cluster() {
    let admin = Admin::new(Memory::default());
    let joined = admin.join(&member("a"), None).await.unwrap();
    let wanted = JoinOutcome {
        charter: joined.charter,
        is_new: true,
        was: PreviousMembership::NotMember,
        place: 1,
        members: 1,
    };
    assert_eq!(joined, wanted);
    assert_eq!(joined.charter.shards, 8);
    assert_eq!(admin.cluster().await.unwrap(), joined.charter);

    let again = JoinOutcome {
        is_new: false,
        was: PreviousMembership::Member,
        ..wanted
    };
    assert_eq!(admin.join(&member("a"), Some(8)).await.unwrap(), again);
}

#[tokio::test]
async fn further_nodes_join_in_the_order_of_their_names() {
    let admin = Admin::of(&["b", "c"]).await;
    let joined = admin.join(&member("a"), None).await.unwrap();
    assert_eq!((joined.is_new, joined.place, joined.members), (false, 1, 3));
    assert_eq!(joined.charter.shards, 2);
}

#[tokio::test]
async fn number_of_shards_is_fixed() {
    let admin = Admin::of(&["a"]).await;
    let error = admin.join(&member("b"), Some(3)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the cluster has 2 shards, and --shards is 3: the number is fixed when a cluster is made; \
         leave --shards out"
    );
    assert_eq!(admin.members().await.unwrap().len(), 1);
    let error = Admin::new(Memory::default())
        .join(&member("a"), Some(33))
        .await;
    assert_eq!(
        error.unwrap_err().to_string(),
        "a cluster cannot have 33 shards: give 1 to 32"
    );
}

#[tokio::test]
async fn address_of_a_member_can_change() {
    let admin = Admin::of(&["a", "b"]).await;
    let moved = Member {
        address: "elsewhere:1".into(),
        ..member("a")
    };
    let joined = admin.join(&moved, None).await.unwrap();
    assert_eq!(
        joined.was,
        PreviousMembership::OtherAddress("a.internal:7002".to_owned())
    );
    assert_eq!((joined.place, joined.members), (1, 2));
    assert_eq!(
        admin.join(&moved, None).await.unwrap().was,
        PreviousMembership::Member
    );
}

#[tokio::test(start_paused = true)]
async fn address_of_a_node_that_lives_stays() {
    let admin = Admin::of(&["a", "b"]).await;
    admin.announce("a", 7, 0);
    let other = Member {
        address: "elsewhere:1".into(),
        ..member("a")
    };
    let error = admin.alive(&[("a", 7)], admin.join(&other, None)).await;
    assert_eq!(
        error.unwrap_err().to_string(),
        "node a is alive at a.internal:7002: give this node another name, or stop that one first"
    );
    assert_eq!(admin.members().await.unwrap()[0].member, member("a"));
    let same = member("a");
    let joined = admin.alive(&[("a", 7)], admin.join(&same, None)).await;
    assert_eq!(joined.unwrap().was, PreviousMembership::Member);

    let begun = Instant::now();
    let joined = admin.join(&other, None).await.unwrap();
    assert_eq!(
        joined.was,
        PreviousMembership::OtherAddress("a.internal:7002".to_owned())
    );
    assert!(
        begun.elapsed() >= TTL && begun.elapsed() < TTL * 2,
        "it is silent"
    );
}

#[tokio::test]
async fn two_nodes_with_one_address_are_refused() {
    let admin = Admin::of(&["a"]).await;
    let copied = Member {
        node: "b".into(),
        ..member("a")
    };
    let error = admin.join(&copied, None).await.unwrap_err().to_string();
    assert!(
        error.starts_with(
            "node a has the address a.internal:7002, which is `advertise` of this one"
        ),
        "{error}"
    );
    assert_eq!(admin.members().await.unwrap().len(), 1);
}

#[tokio::test]
async fn requests_are_repeated_a_few_times() {
    let admin = Admin::of(&["a"]).await;
    admin.log.unanswered.store(2, Ordering::Relaxed);
    assert!(admin.cluster().await.is_ok());
    admin.log.unanswered.store(3, Ordering::Relaxed);
    let error = admin.cluster().await.unwrap_err().to_string();
    assert!(
        error.starts_with("etcd at http://x: silence; check that etcd runs"),
        "{error}"
    );
}
