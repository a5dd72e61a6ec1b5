//! A page that hedges `fetch` over mirrors and draws when each request ran.
//!
//! `request.rs` is a `fetch` that is aborted when it is dropped, `staircase.rs` draws, and this
//! file races.

mod request;
mod staircase;

use std::{
    rc::{Rc, Weak},
    time::Duration,
};

use race::{Race, web::sleep};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, HtmlButtonElement, window};

use staircase::Staircase;

/// If a mirror has not answered after this time, the next one is asked as well.
const DELAY: Duration = Duration::from_millis(200);

const MIRRORS: [&str; 4] = ["sleepy", "broken", "busy", "quick"];

/// Runs when the page has loaded.
#[wasm_bindgen(start)]
fn main() {
    let button: HtmlButtonElement = element("fetch").unchecked_into();
    let on_click = Closure::<dyn Fn()>::new({
        let button = button.clone();
        move || run(button.clone())
    });
    let on_click = on_click.into_js_value().unchecked_into();
    button.set_onclick(Some(&on_click));
    run(button);
}

fn run(button: HtmlButtonElement) {
    button.set_disabled(true);
    spawn_local(async move {
        hedge().await;
        button.set_disabled(false);
    });
}

/// Asks the mirrors, one after another, and shows the first good answer.
async fn hedge() {
    let staircase = Rc::new(Staircase::new(element("staircase"), &MIRRORS));
    spawn_local(draw(Rc::downgrade(&staircase)));
    let result = element("result");
    result.set_text_content(Some("Asking the mirrors …"));

    let race = Race::new(
        DELAY,
        |&mirror| request::text(format!("mirror/{mirror}")),
        MIRRORS,
    )
    .attempt_timeout(Duration::from_secs(30))
    .on_event(|event| staircase.record(event));
    let text = match race.first_ok().await {
        Ok(won) => {
            let (mirror, millis) = (won.arg, won.elapsed.as_millis());
            format!("{mirror} won after {millis} ms: {}", won.output)
        }
        Err(error) => error.to_string(),
    };

    result.set_text_content(Some(&text));
    staircase.draw();
}

/// Draws as long as there is something to draw.
async fn draw(staircase: Weak<Staircase>) {
    while let Some(staircase) = staircase.upgrade() {
        staircase.draw();
        sleep(Duration::from_millis(16)).await;
    }
}

fn element(id: &str) -> Element {
    let document = window().and_then(|window| window.document());
    let found = document.and_then(|document| document.get_element_by_id(id));
    found.expect("the page has this element")
}
