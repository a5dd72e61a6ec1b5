//! The relative links of Markdown, which lead nowhere on a registry's page.

/// A link that is relative to its file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link<'a> {
    pub(super) path: &'a str,
    /// With its `#`; empty without one.
    pub(super) heading: &'a str,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Image,
}

/// Replaces each relative link with what `replace` returns: another destination, or `None` for the
/// text of the link alone.
///
/// # Errors
///
/// Those of `replace`, and a relative link in a form that is not read here: a definition such as
/// `[name]: path`.
pub(super) fn rewrite(
    markdown: &str,
    mut replace: impl FnMut(Link<'_>) -> Result<Option<String>, String>,
) -> Result<String, String> {
    let mut out = String::with_capacity(markdown.len());
    // Where the brackets that are open begin in `out`.
    let mut open = Vec::new();
    let mut rest = markdown;
    while let Some(next) = rest.chars().next() {
        let is_line_start = out.is_empty() || out.ends_with('\n');
        if is_line_start {
            refuse_definition(rest)?;
        }
        let code = match is_line_start {
            true => fenced(rest).or_else(|| code_span(rest)),
            false => code_span(rest),
        };
        if let Some(length) = code {
            out += &rest[..length];
            rest = &rest[length..];
            continue;
        }
        if next == '[' {
            open.push(out.len());
        }
        let begin = (next == ']').then(|| open.pop()).flatten();
        let destination = rest.strip_prefix("](").and_then(|it| it.split_once(')'));
        let (Some(begin), Some((destination, after))) = (begin, destination) else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
            continue;
        };
        rest = after;
        let kind = match out[..begin].ends_with('!') {
            true => Kind::Image,
            false => Kind::Text,
        };
        let replaced = match relative(destination, kind) {
            Some(link) => replace(link)?,
            None => Some(destination.to_owned()),
        };
        match (replaced, kind) {
            (Some(destination), _) => out += &format!("]({destination})"),
            (None, Kind::Text) => drop(out.remove(begin)),
            (None, Kind::Image) => out.replace_range(begin - 1..=begin, ""),
        }
    }
    Ok(out)
}

/// The relative links of a text.
pub(super) fn all_relative(markdown: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    rewrite(markdown, |link| {
        found.push(format!("{}{}", link.path, link.heading));
        Ok(None)
    })?;
    Ok(found)
}

/// The parts of a destination, if it is relative and has a path.
fn relative(destination: &str, kind: Kind) -> Option<Link<'_>> {
    let (path, heading) = match destination.find('#') {
        Some(place) => destination.split_at(place),
        None => (destination, ""),
    };
    let has_scheme = path.contains(':') || path.starts_with("//");
    (!path.is_empty() && !has_scheme).then_some(Link {
        path,
        heading,
        kind,
    })
}

fn refuse_definition(rest: &str) -> Result<(), String> {
    let line = rest.lines().next().unwrap_or_default();
    let definition = line.strip_prefix('[').and_then(|it| it.split_once("]: "));
    match definition {
        Some((_, destination)) if relative(destination, Kind::Text).is_some() => Err(format!(
            "{line:?}: write the relative link where it is used, as [text](path)"
        )),
        _ => Ok(()),
    }
}

/// The length of a fenced block of code that begins with this line.
fn fenced(rest: &str) -> Option<usize> {
    let fence = |line: &str, mark| {
        let line = line.trim();
        line.len() - line.trim_start_matches(mark).len()
    };
    let mut lines = rest.split_inclusive('\n');
    let first = lines.next()?;
    let (mark, opening) = ['`', '~']
        .map(|mark| (mark, fence(first, mark)))
        .into_iter()
        .find(|(_, length)| *length >= 3)?;
    let mut length = first.len();
    for line in lines {
        length += line.len();
        let closing = fence(line, mark);
        if closing >= opening && line.trim().len() == closing {
            return Some(length);
        }
    }
    Some(length)
}

/// The length of a code span: it ends with as many backticks as it begins with. Backticks that
/// nothing closes are text.
fn code_span(rest: &str) -> Option<usize> {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let ticks = run(rest);
    if ticks == 0 {
        return None;
    }
    let mut place = ticks;
    while let Some(found) = rest[place..].find('`') {
        place += found;
        let closing = run(&rest[place..]);
        place += closing;
        if closing == ticks {
            return Some(place);
        }
    }
    Some(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absolute(markdown: &str) -> Result<String, String> {
        rewrite(markdown, |link| {
            Ok(Some(format!("https://x/{}{}", link.path, link.heading)))
        })
    }

    fn without(markdown: &str) -> Result<String, String> {
        rewrite(markdown, |_| Ok(None))
    }

    #[test]
    fn relative_links_become_absolute_or_text() {
        for (markdown, with_url, without_url) in [
            ("a [b](c.md).", "a [b](https://x/c.md).", "a b."),
            ("[b](c.md#d) e", "[b](https://x/c.md#d) e", "b e"),
            ("[`b`](../c)", "[`b`](https://x/../c)", "`b`"),
            ("[b\nc](d.md)", "[b\nc](https://x/d.md)", "b\nc"),
            ("[x [y] z](d)", "[x [y] z](https://x/d)", "x [y] z"),
            ("![b](c.svg)", "![b](https://x/c.svg)", "b"),
            (
                "[![b](c.svg)](d.md)",
                "[![b](https://x/c.svg)](https://x/d.md)",
                "b",
            ),
            ("[中文](d.md)", "[中文](https://x/d.md)", "中文"),
        ] {
            assert_eq!(absolute(markdown).as_deref(), Ok(with_url));
            assert_eq!(without(markdown).as_deref(), Ok(without_url));
        }
    }

    #[test]
    fn everything_else_stays() {
        for markdown in [
            "[a](https://example.com/b) <https://example.com>",
            "[a](#heading) and [b] and (c) and ]( alone",
            "`[a](b)` and ``[`a`](b)``",
            "```rust\nlet a = [b](c);\n```\ntext",
            "  ~~~\n[a](b)\n  ~~~\n",
            "````\n```\n[a](b)\n```\n````\n",
            "[a]: https://example.com\n",
            "| `a [` | [b](mailto:c@example.com) |",
            "a ` alone",
        ] {
            assert_eq!(without(markdown).as_deref(), Ok(markdown));
        }
        assert_eq!(
            all_relative("```\n[a](b)\n```\n[c](d) `[e](f)` [g](h#i)"),
            Ok(vec!["d".to_owned(), "h#i".to_owned()])
        );
    }

    #[test]
    fn definition_with_a_path_is_refused() {
        let error = absolute("see [a]\n\n[a]: b.md\n").expect_err("it is relative");
        assert!(error.contains("[a]: b.md"), "{error}");
        assert!(error.contains("as [text](path)"), "{error}");
    }
}
