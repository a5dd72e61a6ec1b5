//! A GET is decided at the first byte of its body.

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, poll};
use object_store::{
    GetResultPayload, ObjectStoreExt as _, limit::LimitStore, local::LocalFileSystem,
};
use race_object_store::GenericHedgedStore;

use crate::slow::{HANGS, Slow, TEXT, after, ms};

#[test]
fn body_that_does_not_begin_is_hedged() {
    // Both have headers at once.
    let slow = Slow::new([after(5).chunks(500), after(5).chunks(20)]);
    let result = slow.run(slow.hedged().get(&"a".into())).unwrap();
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 50], 75));
    assert_eq!(slow.dropped(), [(0, 75)], "the body of the loser");
    let chunks: Vec<Bytes> = slow.run(result.into_stream().try_collect()).unwrap();
    assert_eq!(chunks, ["the ", "quic", "k br", "own ", "fox"]);
    assert_eq!(slow.millis(), 75 + 5 * 20);
    assert_eq!(slow.dropped().len(), 1, "the winner was read to its end");
}

#[test]
fn body_that_began_is_not_hedged() {
    let slow = Slow::new([after(10).chunks(40)]);
    assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0], 10 + 6 * 40));
}

#[test]
fn empty_body_is_decided_at_its_end() {
    let slow = Slow::new([after(10).chunks(500), after(10).chunks(20)]);
    let result = slow.run(slow.hedged().get(&"empty".into())).unwrap();
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 50], 80));
    let mut body = result.into_stream();
    for _ in 0..2 {
        assert!(slow.run(body.next()).is_none(), "also after its end");
    }
}

#[test]
fn error_before_the_first_byte_starts_the_next_attempt() {
    let slow = Slow::new([after(10).chunks(5).breaks_at(0), after(10)]);
    assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 15], 25));

    let breaks = || after(10).breaks_at(0);
    let slow = Slow::new([breaks(), breaks()]);
    let error = slow.bytes(&slow.hedged()).unwrap_err();
    assert_eq!(error.to_string(), "Generic Slow error: read 1");
}

#[test]
fn body_that_breaks_off_later_is_for_the_caller() {
    for chunk in [1, 3] {
        let slow = Slow::new([after(10).chunks(30).breaks_at(chunk), after(10)]);
        let result = slow.run(slow.hedged().get(&"a".into())).unwrap();
        let mut body = result.into_stream();
        for _ in 0..chunk {
            assert!(slow.run(body.next()).unwrap().is_ok());
        }
        let error = slow.run(body.next()).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "Generic Slow error: read 0");
        assert!(slow.run(body.next()).is_none());
        assert_eq!(slow.reads(), [0]);
    }
}

#[test]
fn no_limit_applies_to_the_body_of_the_winner() {
    let slow = Slow::new([after(10).chunks(40)]);
    let store = slow.hedged().attempt_timeout(ms(60)).deadline(ms(70));
    let result = slow.run(store.get(&"a".into())).unwrap();
    // The consumer takes its time.
    slow.clock.advance(ms(10_000));
    assert_eq!(slow.run(result.bytes()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.dropped()), (vec![0], vec![]));
}

#[test]
fn body_that_is_dropped_is_cancelled() {
    let slow = Slow::new([after(10).chunks(20)]);
    let result = slow.run(slow.hedged().get(&"a".into())).unwrap();
    drop(result);
    assert_eq!(slow.dropped(), [(0, 30)]);
}

#[test]
fn read_that_is_polled_late_takes_what_is_there_and_sends_no_burst() {
    let slow = Slow::new([after(20), after(20), after(20)]);
    let (store, path) = (slow.hedged().max_attempts(3), "a".into());
    let read = slow.run(async {
        let mut read = Box::pin(store.get(&path));
        assert!(poll!(&mut read).is_pending());
        slow.clock.advance(ms(500));
        read.await
    });
    assert_eq!(slow.run(read.unwrap().bytes()).unwrap(), TEXT);
    assert_eq!(slow.reads(), [0]);

    let slow = Slow::new([after(HANGS), after(HANGS), after(20)]);
    let (store, path) = (slow.hedged().max_attempts(3), "a".into());
    let read = slow.run(async {
        let mut read = Box::pin(store.get(&path));
        assert!(poll!(&mut read).is_pending());
        slow.clock.advance(ms(500));
        read.await
    });
    assert!(read.is_ok());
    assert_eq!(slow.reads(), [0, 500, 550]);
}

/// A body holds its permit to the end.
#[test]
fn hedge_gets_no_place_beyond_a_limit_and_a_loser_gives_its_place_back() {
    let slow = Slow::new([after(100), after(10)]);
    let limited = LimitStore::new(slow.clone(), 1);
    let store = GenericHedgedStore::with_timer(limited, slow.clock.timer(), ms(50));
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0], 100));
    assert_eq!(slow.bytes(&store).unwrap(), TEXT, "what waited gave up");
    assert_eq!(slow.reads(), [0, 100]);

    let slow = Slow::new([after(HANGS), after(10), after(10)]);
    let limited = LimitStore::new(slow.clone(), 2);
    let store = GenericHedgedStore::with_timer(limited, slow.clock.timer(), ms(50));
    let winner = slow.run(store.get(&"a".into())).unwrap();
    assert_eq!(slow.dropped(), [(0, 60)]);
    // The winner holds one place, and the loser's is free.
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!(slow.millis(), 70);
    drop(winner);
}

#[tokio::test]
async fn file_is_decided_when_it_is_returned() {
    let folder = std::env::temp_dir().join(format!("race-object-store-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files = LocalFileSystem::new_with_prefix(&folder).unwrap();
    let store = race_object_store::tokio::HedgedStore::new(files, ms(5_000));
    store.put(&"a".into(), TEXT.into()).await.unwrap();
    let result = store.get(&"a".into()).await.unwrap();
    assert!(matches!(result.payload, GetResultPayload::File(..)));
    assert_eq!(result.bytes().await.unwrap(), TEXT);
    store.delete(&"a".into()).await.unwrap();
    std::fs::remove_dir(folder).unwrap();
}

#[test]
fn empty_chunks_decide_nothing() {
    let hesitates = || after(5).hesitates();
    let slow = Slow::new([hesitates().chunks(500), hesitates().breaks_at(0), after(5)]);
    let store = slow.hedged().max_attempts(3);
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 50, 55], 60));
}
