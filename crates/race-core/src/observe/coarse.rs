/// x
#[derive(Debug)]
pub struct CoarseClock;
