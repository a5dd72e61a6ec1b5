//! Checks that hold for any request over HTTP. A test and the fuzz target share them.

use hyper_delay::{internals::read_http, protocol::Line};

/// Reads a request, and asserts that it is refused or is what its path says. The first byte chooses
/// the operation, from `A`; then come each part of the path, the query and the body, one a line.
pub(crate) fn check(bytes: &[u8]) -> Option<(&'static str, Line)> {
    let (choice, rest) = bytes.split_first()?;
    let mut lines = rest.splitn(3, |byte| *byte == b'\n');
    let mut text = || std::str::from_utf8(lines.next()?).ok();
    let (name, query) = (text()?, text()?);
    let body = lines.next().unwrap_or_default();
    let choice = choice.wrapping_sub(b'A');
    let (path, line) = read_http(choice.into(), name, query, body)?;
    assert!(line.tag.is_none() && line.token.is_none());
    let (route, id) = line.request.names();
    // A part `-` is in the query instead.
    let is_name = |part: Option<&str>| part == Some(name) || name == "-";
    if path.contains("{route}") {
        assert!(is_name(route.map(|route| &**route)), "{path}");
    }
    if path.contains("{id}") {
        assert!(is_name(id.map(|id| &**id)), "{path}");
    }
    Some((path, line))
}
