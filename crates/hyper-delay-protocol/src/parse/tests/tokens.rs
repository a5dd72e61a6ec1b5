//! The tokens of requests.

use super::*;

#[test]
fn tokens_are_read_where_they_count() {
    let token = crate::secret::Secret::random().unwrap().reveal();
    let read = |line: &str| parse(line.replace("TOKEN", &token).as_bytes()).unwrap();
    for line in [
        r#"{"kind":"auth","token":"TOKEN"}"#,
        r#"{"kind":"register","route_key":"a","token":"TOKEN"}"#,
        r#"{"kind":"schedule","fire_at":0,"token":"TOKEN"}"#,
    ] {
        let read = read(line).token.unwrap();
        assert_eq!(read.secret().unwrap().reveal(), token, "{line}");
    }
    let other = read(r#"{"kind":"cancel","route_key":"a","id":"1","token":"TOKEN"}"#);
    assert_eq!(other.token, None);
    // Whether it is well-formed is decided with whether it is right.
    let malformed = read(r#"{"kind":"auth","token":"TOKEN?"}"#);
    assert_eq!(malformed.token.unwrap().secret(), None);
}

#[test]
fn tokens_are_never_in_an_error() {
    let missing = refusal_of(r#"{"kind":"auth"}"#);
    assert_eq!(missing.code, Code::MissingField);
    assert_eq!(missing.message, "token is missing: give a token");
    for line in [
        r#"{"kind":"auth","token":4711}"#,
        r#"{"kind":"auth","token":["4711"]}"#,
        r#"{"kind":"schedule","fire_at":0,"token":{"a":4711}}"#,
    ] {
        let refusal = refusal_of(line);
        assert_eq!(refusal.code, Code::BadField);
        assert_eq!(
            refusal.message, "token is not a string: give a token",
            "{line}"
        );
    }
}
