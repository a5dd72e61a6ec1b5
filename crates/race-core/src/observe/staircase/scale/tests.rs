use alloc::vec::Vec;

use super::*;

#[test]
fn axis_has_round_numbers_for_any_span() {
    let axis = |micros| {
        let axis = Scale::new(Duration::from_micros(micros), 40).axis();
        axis.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(axis(0), "0 1 ms");
    assert_eq!(axis(999), "0 1 ms");
    assert_eq!(axis(4_100), "0 1 2 3 4 ms");
    assert_eq!(axis(187_000), "0 50 100 150 ms");
    assert_eq!(axis(9_999_000), "0 2000 4000 6000 8000 ms");
    assert_eq!(axis(60_000_000), "0 20 40 60 s");
    assert_eq!(axis(3_000_000_000_000), "0 1000000 2000000 3000000 s");
    assert_eq!(axis(u64::MAX / 1_000), "0 10000000000 s");
}

#[test]
fn longest_span_has_columns() {
    let longest = Duration::from_nanos(u64::MAX);
    let scale = Scale::new(longest, 40);
    assert_eq!(
        (scale.column(Duration::ZERO), scale.column(longest)),
        (0, 40)
    );
    assert_eq!(scale.column(longest / 2), 20);
    assert_eq!(scale.column(longest / 41 * 40), 39);
    assert_eq!(scale.column(Duration::MAX), 40);
}
