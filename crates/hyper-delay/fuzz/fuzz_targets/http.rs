//! Whatever a query and a body have, a request over HTTP is refused or is what its path says.

#![no_main]

use hyper_delay::internals::read_http;

libfuzzer_sys::fuzz_target!(|input: (u8, &str, &str, &[u8])| {
    let (choice, name, query, body) = input;
    let Some((path, line)) = read_http(choice.into(), name, query, body) else {
        return;
    };
    assert!(line.tag.is_none() && line.token.is_none());
    let (route, id) = line.request.names();
    if path.contains("{route}") {
        assert_eq!(route.map(|route| &**route), Some(name), "{path}");
    }
    if path.contains("{id}") {
        assert_eq!(id.map(|id| &**id), Some(name), "{path}");
    }
});
