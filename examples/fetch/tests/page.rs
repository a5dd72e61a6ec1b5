//! The page in Chromium, after it was built for the browser; see README.md.

#![cfg(not(target_family = "wasm"))]

use std::{
    net::SocketAddr,
    process::{Command, Stdio},
};

use serde_json::json;
use testkit::{Browser, PATIENCE, Process, process::lines};

/// Starts the server of the page on a free port.
fn serve() -> (Process, SocketAddr) {
    let mut command = Command::new("node");
    command.arg("serve.mjs").stdout(Stdio::piped());
    let mut server = Process::spawn(&mut command).expect("node is installed");
    let output = lines(server.child().stdout.take().expect("it is piped"));
    let url = output.recv_timeout(PATIENCE).expect("the server starts");
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    (server, address.parse().expect("it is an address"))
}

/// The class of each lane, and the text at its end.
const LANES: &str = "return [...document.querySelectorAll('.lane')].map(lane => {
    const end = lane.querySelector('.end')?.textContent ?? '';
    return [lane.classList[1], end];
})";

/// Where the bars start, from left to right.
const STARTS: &str = "return [...document.querySelectorAll('.lane line')].map(
    line => Number(line.getAttribute('x1')))";

/// Notes whether a lane is drawn while its request runs.
const WATCH: &str = "new MutationObserver(() => {
    window.drawn ||= document.querySelector('.lane.running line') !== null;
}).observe(document.querySelector('#staircase'), { childList: true })";

#[test]
fn page_shows_the_winner_and_aborts_the_other_requests() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let (_server, address) = serve();
    for requests in ["first", "again"] {
        match requests {
            "first" => browser.open(&format!("http://{address}/")),
            _ => {
                browser.run(WATCH);
                browser.click("#fetch");
            }
        }
        browser.until("return document.querySelector('#fetch').disabled === false");
        let result = browser.text("#result");
        assert!(
            result.starts_with("quick won after ") && result.ends_with(": the file, from quick"),
            "{result}"
        );
        assert_eq!(
            browser.run(LANES),
            json!([
                ["cancelled", "╌ cancelled"],
                ["failed", "✗ failed"],
                ["cancelled", "╌ cancelled"],
                ["won", "● won"],
            ])
        );
        let starts = browser.run(STARTS);
        let starts: Vec<f64> = serde_json::from_value(starts).expect("four numbers");
        assert!(starts.is_sorted_by(|a, b| a < b), "{starts:?}");
    }
    assert_eq!(browser.run("return window.drawn"), json!(true));
    // The server sees the end of a connection a moment later.
    let expected = json!(["busy", "busy", "sleepy", "sleepy"]);
    browser.until(&format!(
        "const request = new XMLHttpRequest();
        request.open('GET', '/aborted', false);
        request.send();
        return JSON.stringify(JSON.parse(request.responseText).sort()) === '{expected}'"
    ));
    let mut errors = browser.console();
    errors.retain(|error| !error.contains("/mirror/broken"));
    assert_eq!(errors, [""; 0]);
}
