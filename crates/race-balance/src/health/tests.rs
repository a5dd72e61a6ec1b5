use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u32) -> Moment {
    (seconds * SECOND).into()
}

/// Fails this many times at a moment.
fn fail(health: &mut Health, times: u32, now: Moment) {
    for _ in 0..times {
        health.failed(health.revision(), true, now, &Ejection::default());
    }
}

fn ejected(now: Moment) -> Health {
    let mut health = Health::default();
    fail(&mut health, 5, now);
    health
}

#[test]
fn fifth_failure_in_a_row_ejects_for_thirty_seconds() {
    let mut health = Health::default();
    fail(&mut health, 4, at(0));
    health.succeeded(health.revision());
    fail(&mut health, 4, at(1));
    assert_eq!(health.standing(at(1)), Standing::InRotation);
    fail(&mut health, 1, at(2));
    assert_eq!(health.standing(at(2)), Standing::Ejected);
    assert_eq!(health.standing(at(31)), Standing::Ejected);
    assert_eq!(health.standing(at(32)), Standing::Due);
}

#[test]
fn ejections_in_a_row_last_longer_up_to_five_minutes() {
    let mut health = ejected(at(0));
    let mut now = 0;
    let mut times = vec![];
    for _ in 0..12 {
        let returns = (now..).find(|it| health.standing(at(*it)) == Standing::Due);
        let returns = returns.expect("an ejection ends");
        times.push(returns - now);
        now = returns;
        fail(&mut health, 1, at(now));
    }
    assert_eq!(
        times,
        [30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300]
    );
    let later = at(now + 300);
    assert!(health.begin_trial(later));
    assert!(health.succeeded(health.revision()));
    health.end_trial();
    assert_eq!(health.standing(later), Standing::InRotation);
    // The row of ejections ended with the success, and so did that of the failures.
    fail(&mut health, 4, later);
    assert_eq!(health.standing(later), Standing::InRotation);
    fail(&mut health, 1, later);
    assert_eq!(health.standing(later + 29 * SECOND), Standing::Ejected);
    assert_eq!(health.standing(later + 30 * SECOND), Standing::Due);
}

#[test]
fn one_trial_runs_at_a_time_and_a_cancelled_one_frees_its_place() {
    let mut health = ejected(at(0));
    assert!(!health.begin_trial(at(29)));
    assert!(health.begin_trial(at(30)));
    assert!(!health.begin_trial(at(31)));
    assert_eq!(health.standing(at(31)), Standing::Ejected);
    health.end_trial();
    assert_eq!(health.standing(at(31)), Standing::OnTrial);
    assert!(health.begin_trial(at(31)));
    fail(&mut health, 1, at(31));
    health.end_trial();
    assert_eq!(health.standing(at(90)), Standing::Ejected);
    assert_eq!(health.standing(at(91)), Standing::Due);
}

#[test]
fn outcome_of_an_attempt_from_before_the_ejection_is_ignored() {
    let before = Health::default().revision();
    let mut health = ejected(at(0));
    health.failed(before, true, at(40), &Ejection::default());
    assert_eq!(health.standing(at(40)), Standing::Due);
    assert!(!health.succeeded(before));
    assert!(health.is_failing());
}

#[test]
fn failure_during_the_ejection_does_not_prolong_it_and_a_success_ends_it() {
    let mut health = ejected(at(0));
    fail(&mut health, 3, at(20));
    assert_eq!(health.standing(at(30)), Standing::Due);
    let mut health = ejected(at(0));
    assert!(health.succeeded(health.revision()));
    assert_eq!(health.standing(at(1)), Standing::InRotation);
}

#[test]
fn pushback_ends_by_time_or_by_a_later_success_and_the_longest_counts() {
    let mut health = Health::default();
    let before = health.revision();
    health.push_back(at(0), 10 * SECOND);
    health.push_back(at(1), 3 * SECOND);
    assert_eq!(health.standing(at(9)), Standing::PushedBack(at(10)));
    assert_eq!(health.standing(at(10)), Standing::InRotation);
    health.succeeded(before);
    assert_eq!(health.standing(at(9)), Standing::PushedBack(at(10)));
    health.succeeded(health.revision());
    assert_eq!(health.standing(at(9)), Standing::InRotation);
    health.push_back(at(0), Duration::ZERO);
    assert!(!health.has_pushback());
}

#[test]
fn pushback_neither_counts_as_a_failure_nor_ends_a_row_of_them() {
    let mut health = Health::default();
    fail(&mut health, 4, at(0));
    for _ in 0..10 {
        health.push_back(at(0), SECOND);
    }
    assert_eq!(health.standing(at(1)), Standing::InRotation);
    fail(&mut health, 1, at(1));
    assert_eq!(health.standing(at(1)), Standing::Ejected);
}

#[test]
fn pushed_back_endpoint_is_not_tried() {
    let mut health = ejected(at(0));
    health.push_back(at(20), 20 * SECOND);
    assert!(!health.begin_trial(at(30)));
    assert_eq!(health.standing(at(30)), Standing::PushedBack(at(40)));
    assert!(health.begin_trial(at(40)));
}

#[test]
fn endpoint_is_never_ejected_if_ejection_is_off() {
    let mut health = Health::default();
    for second in 0..1_000 {
        health.failed(health.revision(), true, at(second), &Ejection::never());
    }
    assert_eq!(health.standing(at(1_000)), Standing::InRotation);
}

/// While all endpoints are used, requests go to one that is ejected without being its trial.
#[test]
fn failures_that_are_no_trial_make_no_ejection_longer() {
    let mut health = Health::default();
    for _ in 0..5 {
        health.failed(health.revision(), false, at(0), &Ejection::default());
    }
    assert_eq!(health.standing(at(29)), Standing::Ejected);
    for second in 1..200 {
        health.failed(health.revision(), false, at(second), &Ejection::default());
    }
    assert_eq!(health.standing(at(200)), Standing::Due);
    assert!(health.begin_trial(at(200)));
    health.failed(health.revision(), true, at(200), &Ejection::default());
    health.end_trial();
    assert_eq!(health.standing(at(259)), Standing::Ejected);
    assert_eq!(health.standing(at(260)), Standing::Due);
}

#[test]
fn ejection_of_no_time_is_none() {
    let times = [
        Ejection::after(1).first(Duration::ZERO),
        Ejection::after(1).longest(Duration::ZERO),
    ];
    for ejection in times {
        let mut health = Health::default();
        health.failed(health.revision(), false, at(0), &ejection);
        assert_eq!(health.standing(at(0)), Standing::InRotation);
    }
}
