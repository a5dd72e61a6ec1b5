mod access;
mod facts;
mod failures;
mod nodes;
mod process;
mod random;
mod stalled;
mod values;
