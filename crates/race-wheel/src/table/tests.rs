use super::*;

#[test]
fn an_entry_is_as_large_as_its_value_and_a_sequence_number() {
    assert_eq!(size_of::<Entry<u64>>(), 16);
    assert_eq!(size_of::<Entry<[u64; 4]>>(), 40);
    // 16 bytes, or 12 where a `u64` is aligned to four.
    assert_eq!(size_of::<Option<Key>>(), size_of::<(u64, u32)>());
}

#[test]
fn the_latest_vacancy_is_used_first() {
    let mut table = Table::new();
    let keys: Vec<_> = (0..10).map(|value| table.insert(value)).collect();
    for key in [3, 9, 5] {
        table.remove(keys[key]);
    }
    let places = [1, 2, 3, 4].map(|value| table.insert(value).index);
    assert_eq!(places, [5, 9, 3, 10]);
}

#[test]
fn vacancies_at_the_end_are_removed_and_others_are_used_again() {
    let mut table = Table::new();
    let keys: Vec<_> = (0..1_000).map(|value| table.insert(value)).collect();
    // From the middle outwards, so that the vacancies at the end are not the latest.
    for offset in 0..500 {
        for index in [499 - offset, 500 + offset] {
            if ![7, 300].contains(&index) {
                table.remove(keys[index]);
            }
            assert!(table.trim() <= TRIMMED);
        }
    }
    while table.trim() > 0 {}
    assert_eq!(
        (table.len(), table.entries.len(), table.tags.len()),
        (2, 301, 301)
    );
    assert!(table.entries.capacity() <= 1_204);
    let mut places: Vec<_> = (0..300).map(|value| table.insert(value).index).collect();
    places.sort_unstable();
    let vacant = (0..300).filter(|index| *index != 7);
    assert!(places.into_iter().eq(vacant.chain([301])));
}

#[test]
fn a_tag_distinguishes_live_items_from_dead_ones() {
    let mut table = Table::new();
    let item = |key| Item::new(0, key);
    let old = table.insert('a');
    assert!(table.is_live(item(old)) && table.may_be_live(item(old)));
    let new = table.renew(old).expect("armed");
    assert!(!table.is_live(item(old)) && !table.may_be_live(item(old)));
    assert!(table.is_live(item(new)) && table.may_be_live(item(new)));
    table.remove(new);
    assert!(!table.is_live(item(new)) && !table.may_be_live(item(new)));
    let next = table.insert('b');
    assert_eq!(next.index, new.index);
    assert!(table.is_live(item(next)) && table.may_be_live(item(next)));
    assert_eq!(table.expire(next), Some('b'));
    let last = table.insert('c');
    assert!(table.is_live(item(last)) && table.may_be_live(item(last)));
}
