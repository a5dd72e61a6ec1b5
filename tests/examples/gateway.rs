use testkit::example::run;

use crate::runs_unread;

#[test]
fn gateway_answers_every_request_and_hedges_some() {
    let ended = run("gateway", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains("200 races, "), "{}", ended.stdout);
    assert!(ended.stdout.contains("200 won"), "{}", ended.stdout);
    assert!(
        !ended.stdout.contains("(0 by an extra attempt)"),
        "{}",
        ended.stdout
    );
}

#[test]
fn runs_without_a_reader() {
    runs_unread("gateway", &[]);
}
