/// Keeps about `count` items, those with the lowest sequence numbers. Returns a number that is
/// higher than all that are kept, and not higher than any other. `items` must have more than
/// `count` items.
pub fn retain_lowest<T>(items: &mut Vec<T>, count: usize, seq: impl Fn(&T) -> u64) -> u64 {
    let (lower, limit, _) = items.select_nth_unstable_by_key(count, &seq);
    let lowest = lower.iter().map(&seq).min();
    // At least one number is kept, so that each pass gets further.
    let limit = seq(limit).max(lowest.map_or(0, |lowest| lowest.saturating_add(1)));
    items.retain(|item| seq(item) < limit);
    limit
}
