//! The address of the repository's page, which published crates link to.

use std::path::Path;

/// An `http` or `https` URL without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository(String);

/// Which page of the repository a link opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    File,
    Folder,
    /// The bytes of a file, as an image needs.
    Raw,
}

impl Repository {
    /// # Errors
    ///
    /// Names a `value` that is no such URL, and what to give instead.
    pub(crate) fn parse(value: &str) -> Result<Self, String> {
        let url = value.trim_end_matches('/');
        let url = url.strip_suffix(".git").unwrap_or(url);
        let rest = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        // In a manifest and in Markdown these would end the URL; a name or a password is no page.
        let may_be_in_it = |c: char| c.is_ascii_graphic() && !"\"'()<>\\?#@`".contains(c);
        let is_page = rest.is_some_and(|rest| {
            let (host, path) = rest.split_once('/').unwrap_or_default();
            !host.is_empty() && !path.is_empty() && rest.chars().all(may_be_in_it)
        });
        match is_page {
            true => Ok(Self(url.to_owned())),
            false => Err(format!(
                "--repository {value:?} is not the URL of a repository: give the http or https \
                 address of its page, such as https://example.com/owner/race"
            )),
        }
    }

    pub(super) fn url(&self) -> &str {
        &self.0
    }

    /// The URL of a path of the default branch, with the `#` and the name of a heading, or nothing.
    /// GitHub, and by a redirect GitLab, serve this form.
    pub(super) fn page(&self, page: Page, path: &Path, heading: &str) -> String {
        let kind = match page {
            Page::File => "blob",
            Page::Folder => "tree",
            Page::Raw => "raw",
        };
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        format!("{}/{kind}/HEAD/{}{heading}", self.0, parts.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_pages_are_taken_and_shortened() {
        for (value, expected) in [
            (
                "https://example.com/owner/race",
                "https://example.com/owner/race",
            ),
            ("http://localhost:3000/race/", "http://localhost:3000/race"),
            (
                "https://example.com/o/race.git",
                "https://example.com/o/race",
            ),
        ] {
            let parsed = Repository::parse(value).map(|it| it.0);
            assert_eq!(parsed.as_deref(), Ok(expected));
        }
    }

    #[test]
    fn other_values_are_named_with_the_cure() {
        for value in [
            "",
            "example.com/owner/race",
            "git@example.com:owner/race.git",
            "ssh://example.com/owner/race",
            "https://",
            "https://example.com",
            "https://example.com/",
            "https:///owner/race",
            "https://example.com/owner/my race",
            "https://example.com/owner/race\"",
            "https://example.com/owner/race#readme",
            "https://name:secret@example.com/owner/race",
        ] {
            let error = Repository::parse(value).expect_err(value);
            assert!(error.contains(&format!("{value:?}")), "{error}");
            assert!(error.contains("give the http or https address"), "{error}");
        }
    }

    #[test]
    fn pages_are_of_the_default_branch() {
        let repository = Repository::parse("https://example.com/o/race").expect("it is a URL");
        let page = |page, path| repository.page(page, Path::new(path), "");
        assert_eq!(
            repository.page(Page::File, Path::new("docs/hedging.md"), "#figures"),
            "https://example.com/o/race/blob/HEAD/docs/hedging.md#figures"
        );
        assert_eq!(
            page(Page::Folder, "examples"),
            "https://example.com/o/race/tree/HEAD/examples"
        );
        assert_eq!(
            page(Page::Raw, "docs/a.svg"),
            "https://example.com/o/race/raw/HEAD/docs/a.svg"
        );
    }
}
