/// Returns the median: the lower one of the two middle figures if their number is even, 0 if there
/// are none.
pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    let middle = figures.len().saturating_sub(1) / 2;
    figures.get(middle).copied().unwrap_or_default()
}
