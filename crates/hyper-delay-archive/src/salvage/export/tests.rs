use super::*;

const NOW: u64 = 1_000;

fn exported(fire_at: u64, place: Place, expires_at: Option<u64>) -> u64 {
    let content = Task {
        fire_at,
        compression: Compression::None,
        payload: &[],
        terms: None,
        headers: "",
        delay_ms: None,
    };
    let terms = expires_at.map(|at| Terms {
        expires_at: Some(at),
        ..Terms::default()
    });
    let name = Name {
        seq: 1,
        fire_at,
        place,
        attempt: 0,
        failures: 0,
        digest: content.digest(),
        bytes: 0,
        terms: terms.map(Box::new),
        failure: None,
    };
    due_time(&name, NOW)
}

#[test]
fn a_task_that_was_not_moved_keeps_its_time() {
    assert_eq!(exported(2_000, Place::Waiting(2_000), None), 2_000);
    assert_eq!(exported(0, Place::Waiting(900), None), 0, "due since then");
    assert_eq!(exported(500, Place::Parked(500), None), 500);
    assert_eq!(exported(500, Place::Dead(900), None), 500);
}

#[test]
fn a_moved_task_is_due_when_it_was_moved_to() {
    for place in [
        Place::Waiting(900),
        Place::Parked(900),
        Place::Dead(900),
        Place::Waiting(1_500),
        Place::Waiting(3_000),
    ] {
        let (Place::Waiting(at) | Place::Parked(at) | Place::Dead(at)) = place;
        assert_eq!(exported(2_000, place, None), at, "{place:?}");
    }
}

#[test]
fn no_task_is_due_after_its_expiry() {
    let waiting = Place::Waiting(3_000);
    assert_eq!(exported(500, waiting, Some(3_000)), 500);
    assert_eq!(exported(500, waiting, Some(3_001)), 3_000);
}
