/// x
#[derive(Debug)]
pub struct Counters;
/// x
#[derive(Debug)]
pub struct Counts;
