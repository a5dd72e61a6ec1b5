//! The page, in a headless Chromium.

use serde_json::json;
use testkit::{Browser, request::later};

use crate::{guarded::Guarded, server::Server};

const HOSTILE: &str = "<img src=x onerror=\"window.harmed=1\">";

const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';
const END: char = '\u{e010}';
const HOME: char = '\u{e011}';
const RIGHT: char = '\u{e014}';

fn open(browser: &Browser, server: &Server) {
    browser.open(&format!("http://{}/", server.http));
    browser.until_text("#status", "Live");
}

/// Nothing was refused by the policy or has failed.
#[track_caller]
fn is_calm(browser: &Browser) {
    assert_eq!(browser.console(), [""; 0]);
}

#[test]
fn the_page_has_strict_headers() {
    let server = Server::start(json!({}));
    let page = server.get("/");
    assert_eq!(page.status, 200);
    assert!(page.body.len() < 60_000);
    let header = |name| page.header(name).unwrap();
    let policy = header("content-security-policy");
    for part in [
        "default-src 'none'",
        "script-src 'sha256-",
        "style-src 'sha256-",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("referrer-policy"), "no-referrer");
    assert_eq!(header("cache-control"), "no-store");
    assert_eq!(header("x-frame-options"), "DENY");
    assert!(page.header("set-cookie").is_none());
}

#[test]
fn the_page_shows_what_the_server_holds() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for id in 0..7 {
        peer.plan("mail", &id.to_string(), later());
    }
    let quoted = json!({"kind": "schedule", "route_key": HOSTILE, "id": HOSTILE, "fire_at": later(),
        "payload_base64": "PGI+aGk8L2I+"});
    peer.ask(&quoted.to_string());
    open(&browser, &server);
    browser.until_text("#n-waiting", "8");
    browser.until_text("#n-dead", "0");
    browser.until_text("#routes tbody tr:nth-child(1) td:nth-child(2)", "7");
    browser.until_text("#routes tbody tr:nth-child(2) td span", HOSTILE);
    browser.until(
        "return document.querySelector('#ahead-text').textContent.startsWith('8 tasks') || \
        (document.querySelector('[value=hours]').click(), false)",
    );
    browser.write("#find-id", HOSTILE);
    browser.click("#find button");
    browser.until("return document.querySelectorAll('#found dd').length > 4");
    assert_eq!(browser.text("#found dd:nth-of-type(1)"), HOSTILE);
    assert_eq!(browser.text("#found pre"), "<b>hi</b>");
    let harmed = "return [window.harmed === undefined, document.images.length]";
    assert_eq!(
        browser.run(harmed),
        json!([true, 0]),
        "client text is never HTML"
    );
    let buttons =
        "return [...document.querySelectorAll('#routes .act')].every((cell) => cell.hidden)";
    assert_eq!(browser.run(buttons), true, "the page is read-only");
    assert!(
        browser
            .text("#reading")
            .contains("this server has no tokens")
    );
    is_calm(&browser);
    browser.resize(500, 900);
    browser.until("return innerWidth <= 500");
    let width = "return document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(browser.run(width), true, "only tables scroll to the side");
    // The console is not empty if the policy refuses something.
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.harmed = 1'; \
        document.body.append(s)",
    );
    assert_eq!(browser.run("return window.harmed === undefined"), true);
    assert!(!browser.console().is_empty());
}

#[test]
fn the_page_follows_the_server() {
    let Some(browser) = Browser::start(true) else {
        return;
    };
    let server = Server::start(json!({}));
    open(&browser, &server);
    browser.until_text("#n-waiting", "0");
    let mut consumer = server.consumer("mail");
    consumer.due("mail", "now");
    let delivery = consumer.delivery();
    browser.until_text("#n-flight", "1");
    browser.until("return document.querySelector('#n-late').textContent.startsWith('≤')");
    assert!(consumer.removes(&delivery));
    browser.until_text("#n-flight", "0");
    let dark = "return matchMedia('(prefers-color-scheme: dark)').matches && \
        getComputedStyle(document.documentElement).backgroundColor === 'rgb(21, 23, 21)'";
    assert_eq!(browser.run(dark), true);
    is_calm(&browser);
    drop(consumer);
    server.signal("KILL");
    browser.until("return document.querySelector('#status').dataset.state === 'lost'");
    browser.until("return document.querySelector('#numbers').classList.contains('stale')");
}

#[test]
fn the_page_takes_no_token_without_encryption_and_says_why() {
    let Some(outer) = crate::hosts::outer() else {
        println!("NOTE: nothing is proved here: this machine has only the loopback");
        return;
    };
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({
        "http_addr": "0.0.0.0:0",
        "allowed_hosts": ["0.0.0.0/0"],
    }));
    let port = server.http.port();
    browser.open(&format!("http://{outer}:{port}/"));
    browser.until("return document.querySelector('#status').textContent.includes('ssh -L')");
    let hidden = "return document.querySelector('#sign-in').hidden";
    assert_eq!(browser.run(hidden), true);
    browser.open(&format!("http://127.0.0.1:{port}/"));
    browser.until_text("#status", "Live");
    assert_eq!(browser.run(hidden), false);
}

#[test]
fn the_page_of_one_who_sees_some_routes_has_their_numbers_only() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({}));
    let mut peer = server.known_peer();
    for id in 0..3 {
        peer.plan("mail", &id.to_string(), later());
    }
    peer.plan("pay", "1", later());
    open(&browser, &server);
    browser.until_text("#n-waiting", "4");
    let ahead = "return document.querySelector('#ahead-text').textContent";
    browser.until(&format!(
        "{ahead}.includes('task') && !document.querySelector('#chart').hidden"
    ));
    browser.write("#token", &server.local);
    browser.click("#sign-in button");
    browser.until_text("#n-waiting", "3");
    browser.until("return document.querySelector('#chart').hidden");
    browser.until(&format!("{ahead}.includes('admin on *')"));
    assert_eq!(browser.text("#n-dead-note"), "");
    browser.click("#forget");
    browser.until_text("#n-waiting", "4");
    browser.until("return !document.querySelector('#chart').hidden");
    is_calm(&browser);
}

/// Replaces the timers and the requests of a page. No timer fires by itself any more: `fire` fires
/// those that are set, five times, and returns the number of requests so far. While `holds` is
/// true, a request has no answer until `fail` makes it fail.
const CLOCK: &str = "
    const [clear, ask] = [window.clearTimeout, window.fetch];
    const turn = () => new Promise((done) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = done;
        port2.postMessage(0);
    });
    let last = 0;
    window.timers = new Map();
    window.setTimeout = (run) => { timers.set(last -= 1, run); return last; };
    window.clearTimeout = (timer) => timers.delete(timer) || clear(timer);
    window.asked = 0;
    window.fetch = (...request) => {
        window.asked += 1;
        return window.holds ? new Promise((_, fail) => { window.fail = fail; }) : ask(...request);
    };
    window.fire = async () => {
        for (let round = 0; round < 5; round += 1) {
            const due = [...timers.values()];
            timers.clear();
            for (const run of due) run();
            await turn();
        }
        return window.asked;
    };
    // The listener of the page itself comes first.
    document.addEventListener('visibilitychange', async () => {
        if (!document.hidden) return;
        const before = window.asked;
        const idle = await fire() - before;
        window.fail?.(new TypeError('no answer'));
        await turn();
        const failed = await fire() - before;
        Object.assign(window, { holds: false, asked: 0 });
        localStorage.setItem('hidden', JSON.stringify([idle, failed]));
    });";

#[test]
fn a_hidden_page_asks_for_nothing() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Server::start(json!({}));
    for holds in [false, true] {
        open(&browser, &server);
        browser.run(CLOCK);
        // The last real timer fires.
        browser.until("return timers.size === 1");
        browser.run(&format!("window.holds = {holds}; window.asked = 0"));
        assert_ne!(browser.run("return fire()"), 0, "a page that is seen asks");
        browser.until("return timers.size === (window.holds ? 0 : 1)");
        let page = browser.hide();
        // The driver shows a tab that it talks to, so the page itself counts.
        browser.open(&format!("http://{}/healthz", server.http));
        browser.until("return localStorage.getItem('hidden') !== null");
        let hidden = browser.run("return localStorage.getItem('hidden')");
        assert_eq!(hidden, "[0,0]", "with a request in flight: {holds}");
        browser.run("localStorage.clear()");
        browser.show(&page);
        browser.until("return window.asked > 0");
    }
}

#[test]
fn the_page_is_used_by_keyboard() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.plan("b", "1", later());
    peer.plan("a", "1", later());
    peer.plan("a", "2", later());
    open(&browser, &server);
    browser.until_text("#n-waiting", "3");
    let focus = |css: &str| {
        for _ in 0..60 {
            if browser.run(&format!(
                "return document.activeElement.matches({})",
                json!(css)
            )) == true
            {
                let outline = "return getComputedStyle(document.activeElement).outlineStyle";
                return browser.run(outline);
            }
            browser.press(&[TAB]);
        }
        panic!("{css} has no focus");
    };
    focus("#spans input");
    browser.press(&[RIGHT]);
    browser.until("return document.querySelector('[value=hours]').checked");
    assert_ne!(focus("#chart"), "none");
    browser.until("return document.querySelector('#chart').getAttribute('aria-valuemax') === '47'");
    browser.press(&[HOME]);
    browser.until(
        "return / to /.test(document.querySelector('#chart').getAttribute('aria-valuetext'))",
    );
    browser.press(&[END]);
    browser.until("return document.querySelector('#chart').getAttribute('aria-valuenow') === '47'");
    assert_ne!(focus("th:first-child button"), "none");
    browser.until_text("#routes tbody tr:first-child td span", "a");
    browser.press(&[ENTER, ENTER]);
    browser.until_text("#routes tbody tr:first-child td span", "b");
    browser.until("return document.querySelector('th').getAttribute('aria-sort') === 'descending'");
    focus("#find-id");
    browser.write("#find-id", "2");
    browser.press(&[ENTER]);
    browser.until("return document.querySelector('#found dd')?.textContent === 'a'");
    let unnamed = "return [...document.querySelectorAll('input, button')].filter((it) => \
        it.checkVisibility() && !it.labels?.length && !it.textContent.trim() && \
        !it.getAttribute('aria-label')).length";
    assert_eq!(browser.run(unnamed), 0, "every control has a name");
    is_calm(&browser);
}

#[test]
fn a_token_lets_the_page_look_and_is_forgotten() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({}));
    open(&browser, &server);
    assert!(browser.text("#reading").starts_with("Read-only"));
    browser.write("#token", "hd_wrong");
    browser.press(&[ENTER]);
    browser.until("return document.querySelector('#alert').textContent.includes('token')");
    let _ = browser.console();
    browser.write("#token", &server.admin);
    browser.press(&[ENTER]);
    browser.until_text("#who", "ops (schedule, consume, admin)");
    browser.until("return document.querySelector('#reading').hidden");
    let kept = "return [localStorage.length, sessionStorage.length, document.cookie, location.href, \
        document.querySelector('#token').value]";
    let url = format!("http://{}/", server.http);
    assert_eq!(browser.run(kept), json!([0, 0, "", url, ""]));
    let html = browser.run("return document.documentElement.outerHTML");
    assert!(!html.as_str().unwrap().contains(&server.admin));
    is_calm(&browser);
    open(&browser, &server);
    browser.until("return !document.querySelector('#reading').hidden");
}

#[test]
fn all_dead_letters_that_match_are_kicked_on_the_page() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({"max_attempts": 1}));
    crate::v1_operators::kill(&server, 3);
    open(&browser, &server);
    browser.until_text("#n-dead", "3");
    browser.write("#token", &server.admin);
    browser.press(&[ENTER]);
    browser.until_text("#routes tbody td button.link", "3");
    browser.click("#routes tbody td button.link");
    browser.until("return Boolean(document.querySelector('#kick-all'))");
    assert!(browser.text("#letters").contains("3 dead letters match"));
    // Left alone, nothing happens.
    browser.click("#delete-all");
    browser.until("return document.querySelector('#sure').open");
    browser.until_text("#sure-title", "Delete 3 dead letters?");
    browser.press(&[ENTER]);
    browser.until("return !document.querySelector('#sure').open");
    browser.click("#kick-all");
    browser.until("return document.querySelector('#sure').open");
    browser.until_text("#sure-yes", "Kick 3");
    assert_eq!(
        server.known_peer().stats("mail")["dead"],
        3,
        "nothing was changed yet"
    );
    browser.click("#sure-yes");
    browser.until_text("#n-dead", "0");
    browser.until(
        "return document.querySelector('#work').textContent === 'Kicked 3 dead letters of mail.'",
    );
    browser.until(
        "return document.querySelector('#letters').textContent === 'No dead letter matches.'",
    );
    browser.until(
        "return [...document.querySelectorAll('#audit-rows tr')].some((row) => \
        row.textContent.includes('kick all') && row.textContent.includes('ops'))",
    );
    is_calm(&browser);
}

#[test]
fn a_route_is_paused_on_the_page() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({}));
    let mut consumer = server.known_peer();
    consumer.register("mail");
    consumer.plan("mail", "1", later());
    open(&browser, &server);
    browser.write("#token", &server.admin);
    browser.press(&[ENTER]);
    browser.until("return document.querySelector('#routes tbody .act button')?.checkVisibility()");
    browser.click("#routes tbody .act button");
    browser.until_text("#routes tbody .act button", "Resume");
    browser.until("return !document.querySelector('#routes .tag').hidden");
    consumer.stats_until("mail", |stats| stats["paused"] == true);
    browser.click("#routes tbody .act button");
    browser.until_text("#routes tbody .act button", "Pause");
    is_calm(&browser);
}
