//! The page where something is missing: an answer, a right, a token, or a name that fits a path.

use serde_json::json;
use testkit::{Browser, request::later};

use crate::{guarded::Guarded, server::Server, v1_operators::kill};

const ENTER: char = '\u{e007}';

fn open(browser: &Browser, server: &Server) {
    browser.open(&format!("http://{}/", server.http));
    browser.until_text("#status", "Live");
}

fn open_as_operator(browser: &Browser, server: &Guarded) {
    open(browser, server);
    sign_in(browser, &server.admin);
    browser.until_text("#who", "ops (schedule, consume, admin)");
}

fn sign_in(browser: &Browser, token: &str) {
    browser.write("#token", token);
    browser.press(&[ENTER]);
}

/// Makes one more dead letter of the route `mail`, with a reason: its payload is no LZ4 frame.
fn kill_by_its_payload(server: &Guarded, dead: u64) {
    let mut consumer = server.known_peer();
    let task = json!({"kind": "schedule", "route_key": "mail", "id": "bad", "fire_at": 0,
        "compression": "lz4", "payload_base64": "AAAA"});
    consumer.ask(&task.to_string());
    consumer.ask(r#"{"kind":"register","route_key":"mail","accept":["none"]}"#);
    consumer.stats_until("mail", |stats| stats["dead"] == dead);
}

#[test]
fn dead_letters_without_a_reason_are_selected_and_deleted() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({"max_attempts": 1}));
    kill(&server, 2);
    kill_by_its_payload(&server, 3);
    open(&browser, &server);
    sign_in(&browser, &server.admin);
    browser.until_text("#routes tbody td button.link", "3");
    browser.click("#routes tbody td button.link");
    browser.until("return document.querySelectorAll('#letters tbody:first-of-type tr').length > 1");
    let row = "[...document.querySelectorAll('#letters tr')].find((row) => \
        row.textContent.startsWith('no reason given'))";
    browser.run(&format!("{row}.querySelector('button').click()"));
    browser.until("return document.querySelector('#letters').textContent.startsWith('2 dead')");
    browser.until("return document.querySelector('#dead-none').checked");
    browser.click("#delete-all");
    browser.until("return document.querySelector('#sure').open");
    browser.until_text("#sure-title", "Delete 2 dead letters?");
    assert!(browser.text("#sure-text").contains("No reason given."));
    browser.click("#sure-yes");
    browser.until_text("#n-dead", "1");
    // A text for the reason ends the choice of none.
    browser.click("#dead-none");
    browser.click("#dead button");
    browser.until("return document.querySelector('#letters').textContent.startsWith('1 dead')");
    assert_eq!(browser.console(), [""; 0]);
}

#[test]
fn names_that_are_dots_are_opened() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({}));
    let mut peer = server.known_peer();
    for (route, id) in [(".", ".."), ("..", "."), ("..", "..")] {
        peer.plan(route, id, later());
    }
    open_as_operator(&browser, &server);
    for (route, id) in [(".", ".."), ("..", ".")] {
        let values = json!([id, route]);
        browser.run(&format!(
            "['find-id', 'find-route'].forEach((id, at) => \
            {{ document.getElementById(id).value = {values}[at]; }})"
        ));
        browser.click("#find button");
        browser.until(&format!(
            "return document.querySelector('#found dd')?.textContent === {}",
            json!(route)
        ));
        assert_eq!(browser.text("#found dd:nth-of-type(2)"), id);
    }
    let is_wide = "const box = document.querySelector('#routes').parentElement; \
        return box.scrollWidth > box.clientWidth";
    assert_eq!(browser.run(is_wide), false, "a short table does not scroll");
    browser.click("#routes tbody tr:first-child .act button");
    peer.stats_until("..", |stats| stats["paused"] == true);
    browser.run("document.querySelector('#dead-route').value = '.'");
    browser.click("#dead button");
    browser.until_text("#letters", "No dead letter matches.");
    assert_eq!(browser.console(), [""; 0]);
}

#[test]
fn a_task_is_shown_with_its_terms() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({}));
    let task = json!({"kind": "schedule", "route_key": "pay", "id": "order-17",
        "fire_at": later(), "ack_timeout_ms": 90_000, "max_attempts": 3, "retry_delay_ms": 50,
        "max_retry_delay_ms": 2_000});
    server.known_peer().ask(&task.to_string());
    open(&browser, &server);
    sign_in(&browser, &server.admin);
    browser.until_text("#who", "ops (schedule, consume, admin)");
    browser.write("#find-id", "order-17");
    browser.click("#find button");
    browser.until("return Boolean(document.querySelector('#found dl'))");
    let shown = browser.text("#found dl");
    for term in [
        "Ack timeout1 min 30 s",
        "Most failed rounds3",
        "First wait after a failure50 ms",
        "Longest wait after a failure2 s",
    ] {
        assert!(shown.contains(term), "{shown}");
    }
}

#[test]
fn nothing_that_a_token_has_shown_stays_without_it() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({"max_attempts": 1}));
    kill(&server, 2);
    let mut peer = server.known_peer();
    let task = json!({"kind": "schedule", "route_key": "pay", "id": "order-17",
        "fire_at": later(), "payload_base64": "c2VjcmV0"});
    peer.ask(&task.to_string());
    open_as_operator(&browser, &server);
    browser.write("#find-id", "order-17");
    browser.click("#find button");
    browser.until("return document.querySelector('#found pre')?.textContent === 'secret'");
    browser.write("#dead-route", "mail");
    browser.click("#dead button");
    browser.until("return Boolean(document.querySelector('#kick-all'))");
    browser.click("#kick-all");
    browser.until("return document.querySelector('#sure').open");
    browser.click("#sure-yes");
    browser.until("return document.querySelectorAll('#audit-rows tr').length > 1");
    // No request is answered from now on, so nothing is filled in again.
    browser.run("window.fetch = () => new Promise(() => {})");
    browser.click("#forget");
    let left = "return [document.querySelector('main').textContent, \
        ...[...document.querySelectorAll('main input')].map((it) => it.value), \
        ...[...document.querySelectorAll('option')].map((it) => it.value)].join('|')";
    let left = browser.run(left);
    let left = left.as_str().unwrap();
    for word in ["secret", "order-17", "mail", "pay", "Kicked", "d0", "ops"] {
        assert!(!left.contains(word), "{word} is left: {left}");
    }
    for number in ["#n-waiting", "#n-dead"] {
        assert_eq!(browser.text(number), "–");
    }
    let is_empty = "return document.querySelector('#bars').childElementCount === 0 && \
        document.querySelector('#holder').hidden && document.querySelector('#audit').hidden";
    assert_eq!(browser.run(is_empty), true);
}

#[test]
fn an_answer_to_a_token_that_was_forgotten_is_not_shown() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({}));
    server.known_peer().plan("pay", "order-17", later());
    open_as_operator(&browser, &server);
    browser.run(
        "const ask = window.fetch; window.answers = []; window.fetch = (path, options) => \
        path.includes('/tasks/') ? new Promise((resolve) => window.answers.push(() => \
        ask(path, options).then(resolve))) : ask(path, options)",
    );
    browser.write("#find-id", "order-17");
    browser.write("#find-route", "pay");
    browser.click("#find button");
    browser.until("return window.answers.length === 1");
    browser.click("#forget");
    browser.run("window.answers[0]().then(() => setTimeout(() => { window.given = true; }, 50))");
    browser.until("return window.given === true");
    assert_eq!(browser.text("#found"), "");
}

#[test]
fn a_token_without_admin_looks_at_a_task_and_is_told_what_is_missing() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({}));
    server.known_peer().plan("mail-1", "order-17", later());
    open(&browser, &server);
    sign_in(&browser, &server.schedule);
    browser.until_text("#who", "billing (schedule)");
    browser.until_text("#status", "Signed in");
    let told = browser.text("#reading");
    assert!(told.contains("not have the right admin"), "{told}");
    assert!(told.contains("look up a task"), "{told}");
    let shown = "return ['now', 'ahead', 'routes', 'find', 'dead'].map((name) => \
        document.querySelector(`[aria-labelledby=${name}-title]`).checkVisibility())";
    assert_eq!(
        browser.run(shown),
        json!([false, false, false, true, false])
    );
    browser.write("#find-id", "order-17");
    browser.write("#find-route", "mail-1");
    browser.click("#find button");
    browser.until("return document.querySelector('#found dd')?.textContent === 'mail-1'");
    let found = browser.text("#found");
    assert!(found.contains("neither consume nor admin"), "{found}");
    browser.click("#forget");
    browser.until_text("#status", "Live");
    assert_eq!(
        browser.run(shown),
        json!([true, true, true, true, true]),
        "this machine sees the numbers"
    );
}

#[test]
fn a_token_that_was_revoked_is_forgotten() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({}));
    server.known_peer().plan("pay", "order-17", later());
    open_as_operator(&browser, &server);
    browser.write("#find-id", "order-17");
    browser.click("#find button");
    browser.until("return document.querySelector('#found dd')?.textContent === 'pay'");
    server.revoke_admin();
    browser.until("return document.querySelector('#alert').textContent.includes('token')");
    assert_eq!(browser.text("#found"), "");
    browser.until("return document.querySelector('#holder').hidden");
}

#[test]
fn a_page_that_may_see_nothing_asks_for_a_token() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({}));
    server.known_peer().plan("pay", "order-17", later());
    open(&browser, &server);
    browser.until_text("#n-waiting", "1");
    // What a page on another machine is answered.
    let refused = r#"{"error":{"code":"unauthenticated","message":"there is no token"}}"#;
    let refused = json!(refused);
    browser.run(&format!(
        "window.fetch = async () => new Response({refused}, {{status: 401}})"
    ));
    browser.until_text("#status", "Not signed in");
    assert!(browser.text("#reading").contains("Enter one above"));
    let shown = "return [...document.querySelectorAll('main section')].filter((part) => \
        part.checkVisibility()).length";
    assert_eq!(browser.run(shown), 0);
    assert_eq!(browser.text("#n-waiting"), "–");
    assert_eq!(
        browser.run("return document.querySelector('#token').checkVisibility()"),
        true
    );
}

#[test]
fn after_errors_the_page_waits_30_seconds_at_most_and_asks_nothing_while_hidden() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Server::start(json!({}));
    open(&browser, &server);
    // Waits are kept and end at once; nothing is answered.
    browser.run(
        "const wait = window.setTimeout; window.waits = []; window.asked = 0; \
        window.setTimeout = (then, millis) => { if (millis >= 1000) window.waits.push(millis); \
        return wait(then, Math.min(millis, 5)); }; \
        window.fetch = () => { window.asked += 1; return Promise.reject(new Error('no')); }",
    );
    browser.until("return window.waits.length > 8");
    let waits = browser.run("return window.waits.slice(0, 9)");
    assert_eq!(
        waits,
        json!([4000, 8000, 16000, 30000, 30000, 30000, 30000, 30000, 30000])
    );
    assert!(browser.text("#status").ends_with("next try in 30 s"));
    browser.run(
        "Object.defineProperty(document, 'hidden', {value: true}); \
        document.dispatchEvent(new Event('visibilitychange')); window.before = window.asked",
    );
    browser.run("window.waits = []; setTimeout(() => { window.later = true; }, 1000)");
    browser.until("return window.later === true");
    assert_eq!(
        browser.run("return [window.waits.length, window.asked - window.before]"),
        json!([1, 0])
    );
}

#[test]
fn a_search_goes_on_where_it_has_ended() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({}));
    let mut peer = server.known_peer();
    for route in 0..45 {
        peer.plan(&format!("r{route:02}"), "same", later());
    }
    open_as_operator(&browser, &server);
    browser.write("#find-id", "same");
    browser.click("#find button");
    let rows = |number: usize| {
        browser.until(&format!(
            "return document.querySelectorAll('#found tbody tr').length === {number}"
        ));
    };
    rows(20);
    assert!(browser.text("#found").contains("The first 20 tasks"));
    browser.click("#find-more");
    rows(40);
    browser.click("#find-more");
    rows(45);
    assert!(browser.text("#found").contains("45 tasks with this id."));
    assert_eq!(
        browser.run("return document.querySelector('#find-more')"),
        json!(null)
    );
    browser.click("#found tbody tr:last-child button");
    browser.until("return document.querySelector('#found dd')?.textContent === 'r44'");
    assert_eq!(browser.console(), [""; 0]);
}
