//! The codes of refusals over HTTP that are no codes of the protocol.

/// The request has no token, or a wrong one.
pub const UNAUTHENTICATED: &str = "unauthenticated";
/// The path has no such method.
pub const METHOD: &str = "method_not_allowed";
/// The body is of another type.
pub const MEDIA_TYPE: &str = "unsupported_media_type";
/// The server did not answer in time.
pub const TIMEOUT: &str = "timeout";

/// Those that are counted. What is not found is no refusal, and nothing is counted before the start.
pub(crate) const COUNTED: [&str; 4] = [UNAUTHENTICATED, METHOD, MEDIA_TYPE, TIMEOUT];
