use testkit::example::run;

use crate::runs_unread;

#[test]
fn somebody_answers() {
    let ended = run("no_runtime", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));

    assert!(ended.stdout.starts_with("server #"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains(" said \"hello\" after "),
        "{}",
        ended.stdout
    );
}

#[test]
fn it_ends_well_with_nobody_to_read_what_it_says() {
    runs_unread("no_runtime", &[]);
}
