//! Delays that are learnt from how long attempts take, so that hedges stay a chosen share of the
//! load.

pub use crate::policy::adaptive::{
    Adaptive, AdaptiveBudget, AdaptiveDelay, Gain, Percentile, SharedAdaptive, TimedBy,
};
