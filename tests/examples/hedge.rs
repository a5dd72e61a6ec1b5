use testkit::example::run;

use crate::{helps, refuses, runs_unread};

/// A line of the table without its name.
#[derive(Debug)]
struct Row {
    p50: f64,
    p99: f64,
    p999: f64,
    extra: f64,
    cancelled: usize,
}

/// The lines with this name: the good day, then the bad day.
fn rows(stdout: &str, name: &str) -> [Row; 2] {
    let number = |text: &str| {
        text.parse()
            .unwrap_or_else(|_| panic!("{text:?} in {stdout}"))
    };
    let lines = stdout.lines().filter_map(|line| line.strip_prefix(name));
    let rows: Vec<_> = lines
        .map(
            |line| match line.split_whitespace().collect::<Vec<_>>()[..] {
                [p50, "ms", p99, "ms", p999, "ms", extra, "%", cancelled] => Row {
                    p50: number(p50),
                    p99: number(p99),
                    p999: number(p999),
                    extra: number(extra),
                    cancelled: number(cancelled) as usize,
                },
                _ => panic!("{line:?}"),
            },
        )
        .collect();
    rows.try_into()
        .unwrap_or_else(|_| panic!("not two of {name:?}: {stdout}"))
}

#[test]
fn extra_load_stays_within_the_budget_and_percentiles_rise() {
    let ended = run("hedge", &["--requests", "400", "--delay", "1us"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));

    let never = rows(&ended.stdout, "never ");
    for row in &never {
        assert_eq!((row.extra, row.cancelled), (0.0, 0), "{row:?}");
    }
    // No request is answered within a microsecond.
    let hedged = rows(&ended.stdout, "hedged ");
    for row in &hedged {
        assert!((1.0..=100.0).contains(&row.extra), "{row:?}");
        assert!((1..=400).contains(&row.cancelled), "{row:?}");
    }
    // 5 % of 400, and the reserve of 10.
    let within = rows(&ended.stdout, "in budget ");
    for row in &within {
        assert!((0.1..=7.5).contains(&row.extra), "{row:?}");
        assert!(row.cancelled <= 30, "{row:?}");
    }
    // Too few requests to learn a good delay.
    let learnt = rows(&ended.stdout, "learnt ");
    for row in &learnt {
        assert!((0.0..=50.0).contains(&row.extra), "{row:?}");
    }
    for row in never.iter().chain(&hedged).chain(&within).chain(&learnt) {
        // No answer is earlier than its latency, to the printed precision.
        assert!(
            1.0 <= row.p50 && row.p50 <= row.p99 && row.p99 <= row.p999,
            "{row:?}"
        );
    }
}

#[test]
fn endless_delay_sends_no_second_request() {
    let ended = run(
        "hedge",
        &["--requests", "50", "--delay", "1h", "--seed", "7"],
    );
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for name in ["never ", "hedged ", "in budget "] {
        for row in rows(&ended.stdout, name) {
            assert_eq!((row.extra, row.cancelled), (0.0, 0), "{name}{row:?}");
        }
    }
}

#[test]
fn bad_input_is_reported_in_one_line_that_names_it() {
    let number = "a number from 1 to 1000000";
    refuses("hedge", &["--requests", "0"], &["--requests \"0\"", number]);
    refuses(
        "hedge",
        &["--requests", "1000001"],
        &["\"1000001\"", number],
    );
    refuses("hedge", &["--requests", "some\n"], &["\"some\\n\"", number]);
    refuses(
        "hedge",
        &["--delay", "6"],
        &["--delay \"6\"", "such as 6ms"],
    );
    refuses(
        "hedge",
        &["--seed", "-1"],
        &["--seed \"-1\"", "a number from 0"],
    );
    refuses("hedge", &["--seed"], &["--seed", "--help"]);
    refuses("hedge", &["--frob"], &["--frob", "--requests"]);
    refuses("hedge", &["200"], &["\"200\"", "--requests"]);
}

#[test]
fn help_exits_with_success() {
    helps("hedge");
}

#[test]
fn closed_stdout_is_not_an_error() {
    runs_unread("hedge", &["--requests", "20"]);
}
