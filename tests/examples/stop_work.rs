use testkit::example::run;

use crate::runs_unread;

#[test]
fn servers_that_stop_the_work_of_losers_work_less() {
    let ended = run("stop_work", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    // The columns after the name: median, 98 %, worked, in vain.
    let worked = |name: &str| -> f64 {
        let row = ended
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(name));
        let time = row.and_then(|row| row.split_whitespace().nth(2));
        let time = time.unwrap_or_else(|| panic!("no {name:?} in {}", ended.stdout));
        time.parse().unwrap()
    };
    // About half as long.
    let (on, stopped) = (worked("go on"), worked("stop the work"));
    assert!(stopped < 0.8 * on, "{}", ended.stdout);
}

#[test]
fn runs_without_a_reader() {
    runs_unread("stop_work", &[]);
}
