//! The codes of refusals over HTTP that are no codes of the protocol.

pub(crate) const UNAUTHENTICATED: &str = "unauthenticated";
pub(crate) const METHOD: &str = "method_not_allowed";
pub(crate) const MEDIA_TYPE: &str = "unsupported_media_type";
pub(crate) const TIMEOUT: &str = "timeout";

/// Those that are counted. What is not found is no refusal, and nothing is counted before the start.
pub(crate) const COUNTED: [&str; 4] = [UNAUTHENTICATED, METHOD, MEDIA_TYPE, TIMEOUT];
