use super::*;

fn ask(routes: &mut Registrations, route: &str, mode: Option<RegisterMode>) -> PendingRoute {
    routes.ask(route.into(), mode).0
}

const SHARED: Option<RegisterMode> = Some(RegisterMode::Shared);

fn names(routes: &Registrations) -> Vec<&str> {
    routes.iter().map(|(route, _)| &**route).collect()
}

#[test]
fn a_request_counts_for_those_after_it_and_is_dropped_if_it_is_refused() {
    let mut routes = Registrations::default();
    let first = ask(&mut routes, "a", SHARED);
    assert_eq!(
        &*routes.default_route(&mut NewIds::default()),
        "a",
        "it is the only one"
    );
    assert_eq!(routes.len(), 1);
    assert_eq!(routes.refuse(first), Effect::Lost);
    assert_eq!(routes.len(), 0);
    let own = routes.default_route(&mut NewIds::default());
    assert!(routes.is_own(&own) && !routes.has(&own));
    assert_eq!(
        routes.default_route(&mut NewIds::default()),
        own,
        "always the same"
    );
}

/// The next leader learns the mode.
#[test]
fn a_schedule_leaves_the_mode_of_the_own_route_as_it_is() {
    for mode in [RegisterMode::Shared, RegisterMode::Exclusive] {
        let mut routes = Registrations::default();
        let own = routes.default_route(&mut NewIds::default());
        let registered = ask(&mut routes, &own, Some(mode));
        let (later, effect) = routes.ask_later(own.clone());
        assert_eq!(effect, Effect::Unchanged);
        routes.apply(registered);
        assert_eq!(routes.ask_now(later).err(), Some(Effect::Unchanged));
        assert_eq!(routes.sent().collect::<Vec<_>>(), [(&own, mode)]);
    }
}

#[test]
fn a_route_that_awaits_a_schedule_is_not_sent_before() {
    let mut routes = Registrations::default();
    let own = routes.default_route(&mut NewIds::default());
    let (first, effect) = routes.ask_later(own.clone());
    let (second, _) = routes.ask_later(own.clone());
    assert_eq!(effect, Effect::Gained);
    assert_eq!(routes.sent().count(), 0);
    assert_eq!(
        routes.refuse(first),
        Effect::Unchanged,
        "another one is unanswered"
    );
    let now = routes.ask_now(second).expect("it is not registered");
    assert_eq!(routes.sent().count(), 1);
    assert!(routes.may_lack(&own));
    routes.apply(now);
    assert!(!routes.may_lack(&own));
    let unregister = ask(&mut routes, &own, None);
    assert!(routes.may_lack(&own));
    assert_eq!(routes.refuse(unregister), Effect::Gained);
}

#[test]
fn an_answer_that_comes_after_that_of_a_later_request_changes_nothing() {
    let mut routes = Registrations::default();
    let schedule = ask(&mut routes, "own", SHARED);
    let unregister = ask(&mut routes, "own", None);
    assert!(!routes.has("own"));
    assert_eq!(routes.apply(unregister), Effect::Unchanged);
    assert!(!routes.has("own"));
    assert_eq!(routes.apply(schedule), Effect::Unchanged);
    assert!(!routes.has("own") && routes.len() == 0);
}

#[test]
fn routes_are_those_that_the_last_request_for_each_leaves() {
    let mut routes = Registrations::default();
    for route in ["c", "a"] {
        let pending = ask(&mut routes, route, SHARED);
        routes.apply(pending);
    }
    let exclusive = ask(&mut routes, "a", Some(RegisterMode::Exclusive));
    let unregister = ask(&mut routes, "c", None);
    let register = ask(&mut routes, "b", SHARED);
    assert_eq!(names(&routes), ["a", "b"]);
    assert_eq!(routes.iter().next().unwrap().1, RegisterMode::Exclusive);
    routes.refuse(exclusive);
    routes.refuse(unregister);
    routes.refuse(register);
    assert_eq!(names(&routes), ["a", "c"]);
    assert_eq!(routes.iter().next().unwrap().1, RegisterMode::Shared);
    assert_eq!(routes.remove("a"), Effect::Lost);
    assert_eq!(&*routes.default_route(&mut NewIds::default()), "c");
}

#[test]
fn random_requests_and_answers_are_those_of_a_list() {
    for seed in 0..2_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut routes = Registrations::default();
        // For each route, the changes so far: applied, refused or (`None`) unanswered.
        let mut model: BTreeMap<&str, Vec<(bool, Option<bool>)>> = BTreeMap::new();
        let mut unanswered = Vec::new();
        for _ in 0..random.usize(0..30) {
            if random.bool() || unanswered.is_empty() {
                let route = *random.choice(&["a", "b", "c"]).unwrap();
                let registers = random.bool();
                let pending = ask(
                    &mut routes,
                    route,
                    registers.then_some(RegisterMode::Shared),
                );
                let changes = model.entry(route).or_default();
                unanswered.push((pending, route, changes.len()));
                changes.push((registers, None));
            } else {
                let next = random.usize(0..unanswered.len());
                let (pending, route, place) = unanswered.swap_remove(next);
                let is_applied = random.bool();
                match is_applied {
                    true => routes.apply(pending),
                    false => routes.refuse(pending),
                };
                model.get_mut(route).unwrap()[place].1 = Some(is_applied);
            }
            let has = |changes: &Vec<(bool, Option<bool>)>| {
                let mut counts = changes.iter().rev().filter(|(_, is)| *is != Some(false));
                counts.next().is_some_and(|(registers, _)| *registers)
            };
            let expected = model.iter().filter(|(_, changes)| has(changes));
            let expected: Vec<&str> = expected.map(|(route, _)| *route).collect();
            assert_eq!(names(&routes), expected, "seed {seed}");
            assert_eq!(routes.len(), expected.len(), "seed {seed}");
        }
    }
}
