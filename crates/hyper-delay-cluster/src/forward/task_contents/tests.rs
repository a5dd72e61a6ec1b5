use super::*;
use crate::forward::samples::copy;

const CLIENT: ConsumerId = 5;
const FAR: Tick = Tick::new(1_000_000);

fn at(nanos: u64) -> Tick {
    Tick::new(nanos)
}

/// Contents up to an entry. A copy that waits for 100 ns shows that the replica has stalled.
fn contents(applied: u64) -> TaskContents {
    let mut contents = TaskContents::new(Duration::from_nanos(100));
    contents.apply(applied);
    contents
}

/// A copy arrives whose content is at this place.
fn receive(contents: &mut TaskContents, seq: u64, after: u64, now: u64) -> CopyArrival {
    contents.receive((CLIENT, copy(seq, after)), FAR, at(now))
}

fn seqs(copies: &[ReceivedCopy]) -> Vec<u64> {
    copies.iter().map(|(_, copy)| copy.revision.seq).collect()
}

#[test]
fn a_copy_waits_until_the_replica_contains_its_entry() {
    let mut contents = contents(7);
    assert_eq!(
        receive(&mut contents, 1, 7, 0),
        CopyArrival::Deliver(copy(1, 7))
    );
    for (seq, after) in [(2, 9), (3, 8), (4, 8), (5, 10)] {
        assert_eq!(receive(&mut contents, seq, after, 0), CopyArrival::Awaits);
    }
    let (change, copies) = contents.apply(9);
    assert_eq!(change, ContentsChange::None);
    assert_eq!(seqs(&copies), [3, 4, 2], "in the order of their entries");
    assert_eq!(seqs(&contents.take_copies()), [5]);
}

#[test]
fn a_replica_that_is_made_anew_begins_at_a_lower_place() {
    let mut contents = contents(9);
    contents.apply(2);
    assert_eq!(receive(&mut contents, 1, 7, 0), CopyArrival::Awaits);
}

#[test]
fn a_replica_that_stalls_gives_its_copies_back_until_it_has_caught_up() {
    let mut contents = contents(7);
    receive(&mut contents, 1, 9, 0);
    receive(&mut contents, 2, 8, 50);
    assert_eq!(contents.next_event(), Some(at(100)));
    assert_eq!(contents.check(at(99)), ContentsChange::None);
    let change = contents.check(at(100));
    let ContentsChange::Suspended(copies) = change else {
        panic!("{change:?}");
    };
    assert_eq!(seqs(&copies), [2, 1]);
    assert!(!contents.are_available());
    assert_eq!(
        receive(&mut contents, 3, 7, 110),
        CopyArrival::Return(copy(3, 7))
    );
    assert_eq!(contents.next_event(), None);
    // Until it contains the last entry that a copy has waited for.
    assert_eq!(contents.apply(8), (ContentsChange::None, Vec::new()));
    assert_eq!(contents.apply(9), (ContentsChange::Resumed, Vec::new()));
    assert!(contents.are_available());
}

#[test]
fn a_replica_that_has_stopped_is_available_only_once_it_follows_again() {
    let mut contents = contents(7);
    assert_eq!(contents.follow(true), ContentsChange::None);
    receive(&mut contents, 1, 9, 0);
    let change = contents.follow(false);
    assert!(matches!(&change, ContentsChange::Suspended(copies) if seqs(copies) == [1]));
    assert_eq!(contents.follow(false), ContentsChange::None);
    assert_eq!(contents.apply(9), (ContentsChange::None, Vec::new()));
    assert!(!contents.are_available());
    assert_eq!(contents.follow(true), ContentsChange::Resumed);
    assert!(contents.are_available());
}

#[test]
fn a_copy_goes_back_when_it_is_not_written_any_more() {
    let mut contents = contents(7);
    for (seq, write_by) in [(1, 60), (2, 40)] {
        contents.receive((CLIENT, copy(seq, 9)), at(write_by), at(0));
    }
    assert_eq!(contents.next_event(), Some(at(40)));
    assert_eq!(seqs(&contents.take_unwritten(at(39))), [0; 0]);
    assert_eq!(seqs(&contents.take_unwritten(at(40))), [2]);
    assert_eq!(seqs(&contents.take_unwritten(at(60))), [1]);
    assert_eq!(contents.check(at(100)), ContentsChange::None, "none waits");
}

#[test]
fn the_copies_of_a_route_of_a_connection_are_removed() {
    let mut contents = contents(7);
    receive(&mut contents, 1, 9, 0);
    contents.receive((CLIENT + 1, copy(2, 9)), FAR, at(0));
    assert_eq!(
        seqs(&contents.take_copies_of(CLIENT, |of| of == "other")),
        [0; 0]
    );
    assert_eq!(seqs(&contents.take_copies_of(CLIENT, |of| of == "r")), [1]);
    assert_eq!(seqs(&contents.apply(9).1), [2]);
}
