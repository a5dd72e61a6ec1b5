use testkit::example::run;

#[test]
fn client_connects_to_the_family_that_is_there() {
    let ended = run("connect", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[0].starts_with("127.0.0.1:"), "{lines:?}");
    assert_eq!(lines[1], "204 No Content");
}

#[test]
fn host_without_a_port_or_without_a_server_is_an_error() {
    for (host, says) in [
        ("localhost", "give HOST:PORT"),
        ("127.0.0.1:1", "127.0.0.1:1: "),
    ] {
        let ended = run("connect", &[host]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
        assert!(ended.stderr.starts_with("connect: "), "{}", ended.stderr);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
}
