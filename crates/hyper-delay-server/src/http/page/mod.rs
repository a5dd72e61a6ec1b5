//! The page for people: one file without requests to elsewhere.
//!
//! Its style and its script are inline, and the content security policy has their hashes, so
//! nothing else runs. The script writes what comes from clients as text only.

use std::sync::LazyLock;

use axum::{
    http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, X_FRAME_OPTIONS},
    response::IntoResponse,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest as _, Sha256};

macro_rules! style {
    () => {
        include_str!("style.css")
    };
}

macro_rules! script {
    () => {
        concat!(
            "'use strict';\n(() => {\n",
            include_str!("text.js"),
            include_str!("server.js"),
            include_str!("numbers.js"),
            include_str!("future.js"),
            include_str!("routes.js"),
            include_str!("find.js"),
            include_str!("dead.js"),
            include_str!("bulk.js"),
            include_str!("poll.js"),
            "})();\n"
        )
    };
}

const PAGE: &str = concat!(
    include_str!("head.html"),
    "<style>",
    style!(),
    "</style>\n",
    include_str!("body.html"),
    "<script>",
    script!(),
    "</script>\n</html>\n",
);

/// The content security policy: the style and the script of the page, and answers of this server.
/// The icon is in the page.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let (style, script) = (hash(style!()), hash(script!()));
    format!(
        "default-src 'none'; style-src '{style}'; script-src '{script}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

pub(super) async fn page() -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (X_FRAME_OPTIONS, "DENY"),
        (OPENER, "same-origin"),
        (RESOURCE, "same-origin"),
    ];
    (headers, PAGE)
}

fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_less_than_60_kilobytes_and_loads_nothing() {
        assert!(PAGE.len() < 60_000, "{} bytes", PAGE.len());
        for part in ["http://", "https://", "src=", "@import", "url("] {
            let found = PAGE
                .replace("http://www.w3.org/2000/svg", "")
                .contains(part);
            assert!(!found, "the page has {part}");
        }
    }

    #[test]
    fn the_script_never_writes_html_and_keeps_nothing() {
        for part in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "localStorage",
            "sessionStorage",
            "document.cookie",
            "indexedDB",
            " style=",
            " onclick=",
        ] {
            assert!(!PAGE.contains(part), "the page has {part}");
        }
    }
}
