//! Numbers of requests, which are signed in etcd's API.

/// Returns `number`, or `i64::MAX` if it is greater: etcd would read it as negative.
pub(crate) const fn clamp(number: u64) -> u64 {
    const MAX: u64 = i64::MAX.unsigned_abs();
    if number < MAX { number } else { MAX }
}

#[cfg(test)]
mod tests {
    use super::clamp;

    #[test]
    fn number_above_the_largest_one_is_the_largest_one() {
        let max = i64::MAX.unsigned_abs();
        for (number, expected) in [(0, 0), (7, 7), (max, max), (max + 1, max), (u64::MAX, max)] {
            assert_eq!(clamp(number), expected);
        }
    }
}
