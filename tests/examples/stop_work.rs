use testkit::example::run;

use crate::runs_unread;

#[test]
fn servers_that_stop_the_work_of_losers_hardly_work_in_vain() {
    let ended = run("stop_work", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let in_vain = |name: &str| -> f64 {
        let line = ended.stdout.lines().find(|line| line.starts_with(name));
        let time = line.and_then(|line| line.split_whitespace().last());
        let time = time.unwrap_or_else(|| panic!("no {name:?} in {}", ended.stdout));
        time.parse().unwrap()
    };
    let (on, stopped) = (in_vain("go on"), in_vain("stop the work"));
    assert!(on > 4.0 * stopped, "{}", ended.stdout);
}

#[test]
fn runs_without_a_reader() {
    runs_unread("stop_work", &[]);
}
