use testkit::example::run;

use crate::{helps, refuses, runs_unread};

/// A line of the table, after its name.
#[derive(Debug)]
struct Row {
    p50: f64,
    p99: f64,
    p999: f64,
    extra: f64,
    cancelled: usize,
}

/// Those of this name: one of the good day, one of the bad day.
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
fn load_is_as_much_as_was_allowed_and_percentiles_rise() {
    let ended = run("hedge", &["--requests", "400", "--delay", "1us"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));

    let never = rows(&ended.stdout, "never ");
    for row in &never {
        assert_eq!((row.extra, row.cancelled), (0.0, 0), "{row:?}");
    }
    // Nothing is answered within a microsecond.
    let hedged = rows(&ended.stdout, "hedged ");
    for row in &hedged {
        assert!((1.0..=100.0).contains(&row.extra), "{row:?}");
        assert!((1..=400).contains(&row.cancelled), "{row:?}");
    }
    // 5 % of 400, and 10.
    let within = rows(&ended.stdout, "in budget ");
    for row in &within {
        assert!((0.1..=7.5).contains(&row.extra), "{row:?}");
        assert!(row.cancelled <= 30, "{row:?}");
    }
    // With too few requests to have learnt it well.
    let learnt = rows(&ended.stdout, "learnt ");
    for row in &learnt {
        assert!((0.0..=50.0).contains(&row.extra), "{row:?}");
    }
    for row in never.iter().chain(&hedged).chain(&within).chain(&learnt) {
        // No answer comes before its time, to the precision of what is printed.
        assert!(
            1.0 <= row.p50 && row.p50 <= row.p99 && row.p99 <= row.p999,
            "{row:?}"
        );
    }
}

#[test]
fn with_a_delay_that_never_passes_nothing_is_asked_twice() {
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
fn bad_input_is_one_line_that_names_it() {
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
fn help_is_no_error() {
    helps("hedge");
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    runs_unread("hedge", &["--requests", "20"]);
}
