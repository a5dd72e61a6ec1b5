/// x
#[derive(Debug)]
pub struct Adaptive;
