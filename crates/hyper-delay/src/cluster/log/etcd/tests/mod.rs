mod access;
mod facts;
mod failures;
mod process;
mod random;
mod values;
