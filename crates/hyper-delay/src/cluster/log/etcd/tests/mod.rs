mod access;
mod facts;
mod failures;
mod process;
mod random;
mod rate;
mod stalled;
mod values;
