//! The pure core of Happy Eyeballs v3: queries and answers as literals, times in milliseconds.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod aliases;
mod cases;
mod changes;
mod client;
mod delay;
mod ech;
mod examples;
mod fallback;
mod hints;
mod history;
mod model;
mod nat64;
mod order;
mod queries;
mod records;
mod table;
