use super::Handles;

fn handles<const N: usize>(handles: &mut Handles) -> [super::AttemptHandle; N] {
    core::array::from_fn(|index| {
        handles.begin(index, None);
        handles.handle()
    })
}

#[test]
fn one_attempt_commits() {
    let mut race = Handles::new();
    let [mut one, mut two] = handles(&mut race);
    assert!(!race.is_decided());
    assert!(two.try_commit());
    assert!(!one.try_commit());
    assert!(two.try_commit(), "it has committed");
    assert!(race.is_decided());
    race.set_losers(super::Losers::RunOn);
    assert!(race.must_end(0) && !race.must_end(1));
}

#[test]
fn attempt_that_is_accepted_takes_a_slot() {
    let mut race = Handles::new();
    race.set_needed(2);
    let [mut one, mut two, mut three] = handles(&mut race);
    assert!(race.claim(1));
    assert!(!race.is_decided());
    assert!(three.try_commit());
    assert!(race.is_decided());
    assert!(!one.try_commit());
    assert!(two.try_commit(), "it has been accepted");
}

#[test]
fn more_needed_later_lets_more_commit() {
    let mut race = Handles::new();
    let [mut one, mut two, mut three] = handles(&mut race);
    assert!(one.try_commit());
    race.set_needed(2);
    assert!(!race.is_decided());
    assert!(two.try_commit());
    race.set_needed(1);
    assert!(!three.try_commit());
}

#[test]
fn commit_is_reported_once() {
    let mut race = Handles::new();
    let [mut one] = handles(&mut race);
    assert!(!race.take_changed());
    assert!(one.try_commit());
    assert!(race.take_changed());
    assert_eq!(race.take_committed(), Some(0));
    assert_eq!(race.take_committed(), None);
    assert!(one.try_commit());
    assert!(!race.take_changed(), "nothing new");
}

#[test]
fn hold_ends_with_its_attempt() {
    let mut race = Handles::new();
    let [one, two] = handles(&mut race);
    let (first, _second) = (one.hold(), two.hold());
    assert!(race.take_changed());
    drop(first);
    assert!(race.is_held());
    assert!(!race.end(1));
    assert!(race.take_changed());
    assert!(!race.is_held());
}

#[test]
fn ended_attempt_neither_commits_nor_is_known() {
    let mut race = Handles::new();
    let [mut one, mut two] = handles(&mut race);
    assert!(!race.end(0));
    assert!(!one.try_commit());
    assert!(two.try_commit());
    assert!(race.end(1));
    assert!(!race.end(1));
}

#[test]
fn attempt_that_panicked_before_it_ran_leaves_its_index_and_its_slot() {
    let mut race = Handles::new();
    let [_one, mut lost] = handles(&mut race);
    assert!(lost.try_commit());
    race.begin(1, None);
    let mut next = race.handle();
    assert_eq!(next.index(), 1);
    assert!(!race.is_decided());
    assert!(next.try_commit());
    assert_eq!(race.take_committed(), Some(1));
}

#[test]
fn at_most_one_of_the_handles_commits_that_no_race_asked_for() {
    let mut handles = Handles::new();
    let [mut one, mut two] = [handles.handle(), handles.handle()];
    assert_eq!([one.index(), two.index()], [0, 1]);
    assert!(one.try_commit());
    assert!(!two.try_commit());
}

#[test]
fn progress_of_an_ended_attempt_is_ignored() {
    let mut race = Handles::new();
    let [one] = handles(&mut race);
    race.end(0);
    one.progress();
    assert!(!race.take_changed() && !race.take_progressed());
}
