use testkit::example::run;

use crate::runs_unread;

/// The example checks who answers, with how many attempts.
#[test]
fn calls_are_hedged_and_streams_are_not() {
    let ended = run("grpc", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let rows: Vec<_> = ended.stdout.lines().skip(1).collect();
    assert_eq!(rows.len(), 3, "{}", ended.stdout);
    for row in rows {
        let left = row.rsplit(' ').next().and_then(|it| it.strip_suffix('u'));
        let left: u64 = left.expect(row).parse().expect(row);
        assert!(left <= 5_000_000, "{row}");
    }
}

#[test]
fn runs_without_a_reader() {
    runs_unread("grpc", &[]);
}
