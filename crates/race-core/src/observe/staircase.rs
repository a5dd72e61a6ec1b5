/// x
#[derive(Debug)]
pub struct Staircase;
