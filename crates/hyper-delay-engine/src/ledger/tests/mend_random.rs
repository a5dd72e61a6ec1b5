//! Random histories whose stores lose rows, and are mended.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::{
    invariants::check_invariants,
    mend::{Rows, mended, rows},
    random::{Step, op, step},
    world::World,
};
use crate::sizes::{Size, counts};
use hyper_delay_store::{
    Bytes, Durability, Space,
    record::{self, EntryRow, Name, Task, key},
};

/// Plays a history and returns the rows after each step.
fn play(steps: &[Step]) -> Vec<Rows> {
    let mut world = World::new();
    let mut histories = Vec::new();
    for step in steps {
        match *step {
            Step::Op { .. } => {
                if let Some(op) = op(&world, step) {
                    world.apply(&op);
                }
            }
            Step::Wait(millis) => world.now += millis,
            _ => {}
        }
        world.commit(Durability::Synced);
        histories.push(rows(&world.store));
    }
    histories
}

/// A claim that a task exists: its route and id, its sequence number, and whether a name says so.
type Claim = ((String, String), u64, bool);

fn claims(rows: &Rows) -> Vec<Claim> {
    let claims = rows.iter().filter_map(|(space, key, value)| {
        let named = |route: &str, id: &str| (route.to_owned(), id.to_owned());
        match space {
            Space::Names => {
                let (route, id) = key::name_of(key).unwrap();
                let name: Name = record::decode(value).unwrap();
                Some((named(route, id), name.seq, true))
            }
            Space::Waiting | Space::Parked | Space::Dead => {
                let placed = EntryRow::read(*space, key, value).unwrap();
                let name = named(placed.entry.route, placed.entry.id);
                Some((name, placed.seq, false))
            }
            _ => None,
        }
    });
    claims.collect()
}

fn contents(rows: &Rows) -> BTreeMap<u64, Bytes> {
    let contents = rows.iter().filter(|(space, ..)| *space == Space::Tasks);
    contents
        .map(|(_, key, value)| {
            let seq = u64::from_be_bytes(key.as_slice().try_into().unwrap());
            (seq, value.clone())
        })
        .collect()
}

fn payload(content: &Bytes) -> Vec<u8> {
    record::decode::<Task<'_>>(content).unwrap().payload.into()
}

#[test]
fn exactly_the_tasks_with_content_and_name_or_entry_are_saved() {
    let config = ProptestConfig::with_cases(testkit::cases(200));
    let is_enough = config.cases >= 50;
    counts::begin();
    proptest!(
        config,
        |(steps in vec(step(), 1..40), seed in any::<u64>(), lost_of_ten in 1_u32..9)| {
            let before = play(&steps).pop().unwrap();
            let tasks = check_invariants(&super::mend::damaged(&before));
            let mut random = fastrand::Rng::with_seed(seed);
            let mut left = before;
            left.retain(|_| random.u32(0..10) >= lost_of_ten);
            let (claims, contents) = (claims(&left), contents(&left));
            let mut expected = tasks;
            expected.retain(|name, task| {
                contents.contains_key(&task.seq) && claims.iter().any(|(claimed, ..)| claimed == name)
            });
            for (name, task) in &mut expected {
                // Only a name has the failure.
                if !claims.iter().any(|(claimed, _, is_name)| claimed == name && *is_name) {
                    task.failure = None;
                }
            }
            let (_, saved) = mended(&left);
            prop_assert_eq!(saved, expected);
        }
    );
    if is_enough {
        counts::assert_reached(&[Size::MendRows, Size::MendNumbers], 5);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testkit::cases(200)))]

    #[test]
    fn spaces_of_different_ages_are_mended(
        steps in vec(step(), 1..40),
        ages in vec(0_usize..=1000, Space::ALL.len()),
    ) {
        let histories = play(&steps);
        let at = |space: Space| (histories.len() - 1) * ages[space as usize] / 1000;
        let mixed: Rows = Space::ALL
            .into_iter()
            .flat_map(|space| histories[at(space)].iter().filter(move |row| row.0 == space))
            .cloned()
            .collect();
        let (claims, contents) = (claims(&mixed), contents(&mixed));
        let (store, saved) = mended(&mixed);
        for (name, task) in &saved {
            let is_claimed = |claim: &Claim| claim.0 == *name && claim.1 == task.seq;
            prop_assert!(claims.iter().any(is_claimed), "{name:?}: {task:?}");
            prop_assert_eq!(&payload(&contents[&task.seq]), &task.payload);
        }
        for (name, seq, _) in &claims {
            if contents.contains_key(seq) {
                let saved = saved.get(name).map(|task| task.seq);
                prop_assert!(saved >= Some(*seq), "{name:?} {seq}: {saved:?}");
            }
        }
        let next = crate::ledger::sequence_numbers::SequenceNumbers::open(&*store, 1).unwrap().next();
        let highest = claims.iter().map(|claim| claim.1).chain(contents.into_keys()).max();
        prop_assert!(Some(next) > highest);
    }
}
