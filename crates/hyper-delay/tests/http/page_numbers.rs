//! The numbers of the page, and its filter of dead letters, in a headless Chromium.

use serde_json::json;
use testkit::{Browser, request::now};

use crate::{guarded::Guarded, server::Server};

fn open(browser: &Browser, server: &Server) {
    browser.open(&format!("http://{}/", server.http));
    browser.until_text("#status", "Live");
}

#[test]
fn the_page_shows_what_is_due_what_is_overdue_and_who_consumes() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    open(&browser, &server);
    browser.until_text("#n-due", "0");
    browser.until_text("#n-due-note", "nothing is overdue");
    browser.until_text("#routes-note", "0 consumers");
    let _consumers = [server.consumer("soon"), server.consumer("soon")];
    browser.until_text("#routes-note", "2 consumers");
    for id in 0..3 {
        peer.plan("soon", &id.to_string(), now() + 55_000);
    }
    browser.until_text("#n-due", "3");
    browser.until_text("#routes tbody tr:nth-child(1) td:nth-child(9)", "2");
    browser.until_text("#routes tbody tr:nth-child(1) td:nth-child(5)", "–");
    // Without a consumer.
    peer.due("nobody", "1");
    browser.until(
        "return document.querySelector('#n-due-note').textContent.startsWith('oldest overdue: ')",
    );
    browser.until(
        "return / m?s$/.test(document.querySelector('#routes tbody tr:nth-child(2) \
         td:nth-child(5)').textContent)",
    );
    browser.until_text("#n-waiting-note", "1 due, waiting for a consumer");
    assert_eq!(browser.console(), [""; 0]);
}

#[test]
fn dead_letters_are_filtered_by_the_time_of_their_death_on_the_page() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let server = Guarded::start(json!({"max_attempts": 1}));
    crate::v1_operators::kill(&server, 2);
    open(&browser, &server);
    browser.until_text("#n-dead", "2");
    browser.write("#token", &server.admin);
    browser.click("#sign-in button");
    browser.until_text("#routes tbody td button.link", "2");
    // The field has local time without a zone.
    let died_before = |seconds: i64| {
        browser.run(&format!(
            "const at = new Date(Date.now() + {seconds} * 1000); \
             const local = new Date(at - at.getTimezoneOffset() * 60000); \
             document.querySelector('#dead-until').value = local.toISOString().slice(0, 19); \
             document.querySelector('#dead-route').value = 'mail'; \
             document.querySelector('#dead').requestSubmit()"
        ));
    };
    let letters = "return document.querySelector('#letters').textContent";
    died_before(-3_600);
    browser.until(&format!("{letters} === 'No dead letter matches.'"));
    died_before(3_600);
    browser.until(&format!("{letters}.includes('2 dead letters match')"));
    // The filter is that of the operation, too.
    browser.click("#delete-all");
    browser.until("return document.querySelector('#sure').open");
    browser.until_text("#sure-title", "Delete 2 dead letters?");
    assert!(browser.text("#sure-text").contains("Died before "));
    assert_eq!(browser.console(), [""; 0]);
}
