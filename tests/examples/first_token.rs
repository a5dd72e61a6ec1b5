use testkit::example::run;

use crate::runs_unread;

#[test]
fn tokens_of_one_server_are_printed_and_the_other_is_cancelled() {
    let ended = run("first_token", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let expected = "The first token decides the race. \n\
                    server #1: 6 tokens\n\
                    the slow server was cancelled after 0 tokens\n";
    assert_eq!(ended.stdout, expected);
}

#[test]
fn runs_without_a_reader() {
    runs_unread("first_token", &[]);
}
