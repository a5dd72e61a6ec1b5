//! What a set must keep to in corners, one test a sentence.

mod borrowed_parents;
mod broken_parents;
mod budget;
mod drops;
mod fairness;
mod panics;
mod parents;
mod places;
mod stale;
mod threads;
mod ticket;
