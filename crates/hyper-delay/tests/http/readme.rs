//! The README's examples with `curl`.

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use testkit::process::run;

use crate::guarded::Guarded;

const README: &str = include_str!("../../README.md");

#[test]
fn the_examples_do_what_they_say() {
    let server = Guarded::start(json!({}));
    let (_, section) = README.split_once("\n## HTTP and the page\n").unwrap();
    let block = section.split("```sh\n").nth(2).unwrap();
    let (script, _) = block.split_once("```").unwrap();
    assert_eq!(script.matches("curl ").count(), 6, "{script}");
    fs::write(server.directory().join("token"), &server.admin).unwrap();
    let script = script.replace("127.0.0.1:7001", &server.http.to_string());
    let mut bash = Command::new("bash");
    bash.args(["-euc", &script.replace("curl ", "curl -sS ")]);
    bash.current_dir(server.directory());
    let output = run(bash.stdout(Stdio::piped()).stderr(Stdio::piped()), b"").done();
    let answers: Vec<Value> = serde_json::Deserializer::from_str(&output)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap();
    let kinds: Vec<_> = answers
        .iter()
        .map(|answer| answer["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["scheduled", "task", "list", "stats", "dead", "cancelled"]
    );
    assert_eq!(answers[1]["payload_base64"], "aGVsbG8=");
    assert_eq!(answers[2]["tasks"][0]["id"], "order-17");
}
