use serde_json::json;

use crate::process::Server;

const DEFAULT: &str = "info,fjall=warn,lsm_tree=off,sfa=off is used instead";

#[test]
fn an_empty_or_misspelt_filter_is_reported_and_the_default_applies() {
    for (value, named) in [("", "RUST_LOG is empty"), ("inof", "inof is not a level")] {
        let server = Server::start_under(&["env", &format!("RUST_LOG={value}")], json!({}));
        let warning = server.logs("RUST_LOG");
        assert!(warning.contains("WARN"), "{warning}");
        assert!(warning.contains(named), "{warning}");
        assert!(warning.contains(DEFAULT), "{warning}");
        server.logs("starting");
    }
}

#[test]
fn a_valid_filter_causes_no_warning() {
    let server = Server::start_under(&["env", "RUST_LOG=hyper_delay=debug"], json!({}));
    server.run(&["ping"]).done();
    server.logs("DEBUG");
    assert!(!server.running.log().contains("RUST_LOG"));
}
