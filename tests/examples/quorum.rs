use testkit::example::run;

use crate::{refuses, runs_unread};

/// The lines without the elapsed time.
fn facts(stdout: &str) -> Vec<&str> {
    stdout
        .lines()
        .map(|line| line.split_once(" after ").map_or(line, |(fact, _)| fact))
        .collect()
}

#[test]
fn newest_of_three_answers_wins_or_the_quorum_is_unreachable() {
    let ended = run("quorum", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let expected = [
        "one replica does not answer, one fails:",
        "#0 amsterdam: \"blue\", version 7",
        "#3 dakar: \"green\", version 8",
        "#4 eindhoven: \"blue\", version 7",
        "newest: \"green\", version 8",
        "",
        "two more fail:",
        "#0 amsterdam: unreachable",
        "#2 cairo: disk full",
        "#4 eindhoven: unreachable",
        "out of reach: 1 of 3 answered",
    ];
    assert_eq!(facts(&ended.stdout), expected);
}

#[test]
fn bad_input_is_reported_in_one_line_that_names_it() {
    refuses("quorum", &["5"], &["\"5\"", "no arguments"]);
    refuses("quorum", &["--a\nb"], &["\"--a\\nb\"", "no arguments"]);
}

#[test]
fn closed_stdout_is_not_an_error() {
    runs_unread("quorum", &[]);
}
