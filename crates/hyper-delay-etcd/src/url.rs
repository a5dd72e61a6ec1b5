//! The URLs of members.

use std::num::NonZero;

use http::Uri;

use crate::Error;

const FORM: &str = "give one such as \"http://127.0.0.1:2379\" or \"https://etcd.example:2379\"";
const USER: &str = "give the user with Options::user";
const PORT: &str = "give a port from 1 to 65535";
const PATH: &str = "remove what follows the host and the port";

/// Parses the URL of a member: `http` or `https`, a host, and a port if it is not the default one.
pub(crate) fn parse(url: &str) -> Result<Uri, Error> {
    check(url).map_err(|cure| Error::Url {
        url: without_user(url),
        cure,
    })
}

/// If the URL cannot be used, returns the cure.
fn check(url: &str) -> Result<Uri, &'static str> {
    let uri: Uri = url.parse().map_err(|_| FORM)?;
    let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(FORM);
    };
    if authority.as_str().contains('@') {
        return Err(USER);
    }
    let host = authority.host();
    let after_host = authority.as_str().strip_prefix(host);
    let Some(after_host) = after_host.filter(|_| !host.is_empty()) else {
        return Err(FORM);
    };
    if !after_host.is_empty() {
        let port = after_host.strip_prefix(':').and_then(|it| it.parse().ok());
        let _port: NonZero<u16> = port.ok_or(PORT)?;
    }
    if !matches!(uri.path(), "" | "/") || url.contains(['?', '#']) {
        return Err(PATH);
    }
    Ok(uri)
}

/// Leaves out a user and its password, which must not be in a message.
fn without_user(url: &str) -> String {
    let Some((before, host)) = url.rsplit_once('@') else {
        return url.to_owned();
    };
    let scheme = before.find("://").map_or("", |end| &before[..end + 3]);
    format!("{scheme}...@{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_has_a_scheme_and_a_host_and_perhaps_a_port() {
        for url in [
            "http://127.0.0.1:2379",
            "http://etcd.example",
            "https://etcd.example:2379/",
            "HTTPS://a:65535",
            "http://[::1]",
            "http://[::1]:2379/",
        ] {
            assert!(parse(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn other_urls_are_named_with_their_cure() {
        for (url, expected) in [
            ("", FORM),
            ("not a url", FORM),
            ("http://", FORM),
            ("http://:2379", FORM),
            ("localhost:2379", FORM),
            ("127.0.0.1", FORM),
            ("/path", FORM),
            ("ftp://127.0.0.1:2379", FORM),
            ("unix:///etcd", FORM),
            ("http://127.0.0.1:99999", PORT),
            ("http://127.0.0.1:0", PORT),
            ("http://127.0.0.1:", PORT),
            ("http://[::1]:99999", PORT),
            ("http://a/b", PATH),
            ("http://a/?b", PATH),
            ("http://a?b", PATH),
            ("http://a#b", PATH),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{url:?} ")), "{error}");
            assert!(error.ends_with(expected), "{error}");
        }
    }

    #[test]
    fn password_in_a_url_is_not_shown() {
        for url in [
            "http://hd:s3cret@a:1",
            "http://hd:s3/cret@a:1",
            "hd:s3cret@a:1",
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(
                error.contains("...@a:1") && !error.contains("s3"),
                "{error}"
            );
        }
    }
}
