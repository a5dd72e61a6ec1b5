/// x
#[derive(Debug)]
pub struct Traced;
