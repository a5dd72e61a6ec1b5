//! Nothing here; see `benches`.
