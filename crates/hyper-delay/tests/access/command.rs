use std::fs;

use testkit::Ended;

use crate::server::{ALL, Directory, Server, id};

fn with(server: &Server, variables: &[(&str, &str)], line: &[&str]) -> Ended {
    let address = server.address.to_string();
    let mut all = vec![("HYPER_DELAY_ADDR", address.as_str())];
    all.extend_from_slice(variables);
    server.directory.run(&all, line)
}

#[test]
fn commands_show_a_token_from_a_file_or_the_environment() {
    let (server, [token]) = Server::with([ALL]);
    fs::write(server.directory.path().join("mine"), format!("{token}\n")).unwrap();
    let schedule = ["schedule", "hello", "--route", "a", "--token-file", "mine"];
    with(&server, &[], &schedule).done();
    let file = [("HYPER_DELAY_TOKEN_FILE", "mine")];
    let heard = with(&server, &file, &["listen", "a", "--count", "1"]).done();
    assert!(heard.ends_with("hello\n"), "{heard}");
    let text = [("HYPER_DELAY_TOKEN", token.as_str())];
    with(&server, &text, &["stats"]).done();
    with(&server, &text, &["bench", "deliver", "--tasks", "200"]).done();
    let folder = ["backup", "backups"];
    with(&server, &text, &folder).done();
    let help = with(&server, &[], &["stats", "--help"]).done();
    assert!(
        help.contains("--token-file") && !help.contains("--token <"),
        "{help}"
    );
}

#[test]
fn errors_name_the_cause_and_the_cure_but_no_token() {
    let (server, [token]) = Server::with([(&["schedule"], &["mail"])]);
    let text = [("HYPER_DELAY_TOKEN", token.as_str())];
    let none = with(&server, &[], &["stats"]).failed(1);
    assert!(
        none.contains("needs a token") && none.contains("--token-file"),
        "{none}"
    );
    let missing = with(&server, &text, &["stats"]).failed(1);
    assert!(
        missing.contains("forbidden") && missing.contains("admin"),
        "{missing}"
    );
    for (variables, line, named) in [
        (
            &[("HYPER_DELAY_TOKEN", "guess")],
            &["stats"][..],
            "refused the token",
        ),
        (
            &[("HYPER_DELAY_TOKEN", "a guess")],
            &["stats"],
            "the token is none",
        ),
        (
            &[("HYPER_DELAY_TOKEN_FILE", "no")],
            &["stats"],
            "cannot read the token in \"no\"",
        ),
        (
            &[("HYPER_DELAY_TOKEN", "guess")],
            &["bench", "schedule"],
            "forbidden",
        ),
    ] {
        let error = with(&server, variables, line).failed(1);
        assert!(error.contains(named), "{error}");
        assert!(!error.contains("guess"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let directory = Directory::new();
    let token = directory.token("billing", (&["schedule"], &["mail*", "pay"]));
    assert!(token.starts_with("hd_") && token.len() == 59, "{token}");
    assert!(!directory.tokens().contains(&token[16..]));
    let file = ["--file", "tokens.json"];
    let certificate = [
        &[
            "token", "new", "--name", "worker", "--right", "consume", "--route", "*",
        ][..],
        &["--certificate", "worker.internal"],
        &file,
    ]
    .concat();
    let worker = directory.run(&[], &certificate).done();
    let list = directory.run(&[], &["token", "list", "--file", "tokens.json"]);
    let list = list.done();
    let expected = format!(
        "{} \"billing\" may schedule on mail*, pay\n{} \"worker\" may consume on *, by the certificate \"worker.internal\"\n",
        id(&token),
        worker.trim_end(),
    );
    assert_eq!(list, expected);
    let twice = directory.run(&[], &certificate).failed(1);
    assert!(
        twice.contains("another token has the same certificate"),
        "{twice}"
    );
    let limited = [
        &[
            "token", "new", "--name", "slow", "--right", "schedule", "--route", "a",
        ][..],
        &["--schedules-per-second", "5", "--pending", "6"],
        &["--pending-bytes", "7"],
        &file,
    ]
    .concat();
    directory.run(&[], &limited).done();
    let list = directory.run(&[], &["token", "list", "--file", "tokens.json"]);
    let list = list.done();
    assert!(
        list.contains(
            "on a, at most 5 schedules per second, at most 6 pending tasks, at most 7 pending bytes\n"
        ),
        "{list}"
    );
    directory.revoke(&token);
    let again = ["token", "revoke", id(&token), "--file", "tokens.json"];
    let error = directory.run(&[], &again).failed(1);
    assert!(
        error.contains("list them with `hyper-delay token list`"),
        "{error}"
    );
    let wrong = [
        &[
            "token", "new", "--name", "x", "--right", "root", "--route", "*",
        ][..],
        &file,
    ]
    .concat();
    let error = directory.run(&[], &wrong).failed(2);
    assert!(error.contains("give schedule, consume, admin"), "{error}");
}

#[test]
fn tokens_that_are_made_at_the_same_time_are_all_kept() {
    let directory = Directory::new();
    let mut tokens: Vec<String> = std::thread::scope(|scope| {
        let make = |number: usize| {
            let directory = &directory;
            scope.spawn(move || directory.token(&number.to_string(), ALL))
        };
        let making: Vec<_> = (0..12).map(make).collect();
        let made = making.into_iter().map(|making| making.join().unwrap());
        made.map(|token| id(&token).to_owned()).collect()
    });
    let list = directory.run(&[], &["token", "list", "--file", "tokens.json"]);
    let list = list.done();
    let mut listed: Vec<&str> = list.lines().map(|line| &line[..12]).collect();
    listed.sort_unstable();
    tokens.sort_unstable();
    assert_eq!(listed, tokens);
}

#[cfg(target_os = "linux")]
#[test]
fn token_that_cannot_be_printed_is_not_made() {
    let directory = Directory::new();
    let line = "exec \"$0\" token new --name a --right admin --route '*' --file t.json >/dev/full";
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", line, crate::server::PROGRAM])
        .current_dir(directory.path())
        .stderr(std::process::Stdio::piped());
    let error = testkit::process::run(&mut command, b"").failed(1);
    assert!(error.contains("No space left"), "{error}");
    let listed = directory.run(&[], &["token", "list", "--file", "t.json"]);
    assert_eq!(listed.done(), "");
}

#[test]
fn who_may_move_tasks_is_told_that_the_job_has_begun() {
    let (server, [mover, all]) = Server::with([(&["schedule"][..], &["mail"][..]), ALL]);
    let text = [("HYPER_DELAY_TOKEN", mover.as_str())];
    for id in ["1", "2"] {
        let line = ["schedule", "x", "--route", "mail", "--id", id, "--in", "1h"];
        with(&server, &text, &line).done();
    }
    let line = ["reschedule", "mail", "--all", "--later", "1h", "--yes"];
    let said = with(&server, &text, &line).done();
    assert!(said.starts_with("begun as job "), "{said}");
    assert!(said.contains("admin"), "{said}");
    let text = [("HYPER_DELAY_TOKEN", all.as_str())];
    let jobs = with(&server, &text, &["jobs"]).done();
    assert!(jobs.contains("tasks changed: "), "{jobs}");
}
