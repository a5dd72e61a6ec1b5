//! The codes of errors exist twice, in the server and in the client, which depends on no crate of
//! the server. Here both lists are compared.

use std::collections::BTreeSet;

use hyper_delay::protocol::Code;

const CLIENT: &str = include_str!("../../hyper-delay-client/src/refusal.rs");

#[test]
fn the_client_knows_every_code_of_the_server() {
    for code in Code::ALL {
        let read = hyper_delay_client::Code::from(code.as_str().to_owned());
        assert_eq!(format!("{read:?}"), format!("{code:?}"));
        assert_eq!(read.as_str(), code.as_str());
    }
}

#[test]
fn the_client_knows_no_other_code() {
    let read = CLIENT.lines().filter_map(|line| {
        let (name, code) = line.trim().strip_prefix('"')?.split_once("\" => Self::")?;
        code.ends_with(',').then_some(name)
    });
    let of_server = Code::ALL.map(Code::as_str);
    assert_eq!(read.collect::<BTreeSet<_>>(), BTreeSet::from(of_server));
}
