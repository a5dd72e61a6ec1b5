use testkit::example::run;

use crate::runs_unread;

#[test]
fn one_server_answers() {
    let ended = run("no_runtime", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));

    assert!(ended.stdout.starts_with("server #"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains(" answered \"hello\" after "),
        "{}",
        ended.stdout
    );
}

#[test]
fn closed_stdout_is_not_an_error() {
    runs_unread("no_runtime", &[]);
}
