//! The output of commands: lines for people and JSON, without control characters of clients.

use std::{
    borrow::Cow,
    io::{self, Write as _},
    ops::RangeInclusive,
};

use super::CommandError;

/// Prints a line and flushes, so that it also reaches a pipe immediately. What clients have chosen,
/// such as the name of a route, can neither add a line nor command the terminal.
pub(super) fn print(line: &str) -> Result<(), CommandError> {
    print_lines(&escaped(line))
}

/// Prints text that has nothing from clients.
pub(super) fn print_lines(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(CommandError::Output)
}

/// Prints a line on standard error, so that standard output has data only. Unlike the log it is
/// part of the result.
pub(super) fn report(line: &str) -> Result<(), CommandError> {
    write_report(line).map_err(CommandError::Report)
}

/// Does what [`report`] does, for callers with errors of their own.
pub(super) fn write_report(line: &str) -> io::Result<()> {
    let line = format!("{}\n", escaped(line));
    io::stderr().write_all(line.as_bytes())
}

/// Prints a value as one line of JSON.
pub(super) fn print_json(value: &impl serde::Serialize) -> Result<(), CommandError> {
    print(&to_json(value)?)
}

/// Returns a value as one line of JSON.
pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String, CommandError> {
    serde_json::to_string(value).map_err(|error| CommandError::Output(error.into()))
}

/// Replaces the characters that would change how a terminal shows a line, except tabs. The result
/// is also valid in JSON.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    /// Characters that change the direction of the text or end a line.
    const MARKS: [RangeInclusive<char>; 3] = [
        '\u{200e}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2066}'..='\u{2069}',
    ];
    let changes = |letter: char| {
        letter != '\t' && letter.is_control() || MARKS.iter().any(|marks| marks.contains(&letter))
    };
    if !text.contains(changes) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if changes(letter) {
            escaped += &format!("\\u{:04x}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line_without_commands_for_the_terminal() {
        assert_eq!(
            escaped("a\u{1b}[2J\nb\r\u{9b}1m"),
            r"a\u001b[2J\u000ab\u000d\u009b1m"
        );
        assert_eq!(escaped("\u{202e}x\u{2028}"), r"\u202ex\u2028");
        let plain = "caf\u{e9}\t\u{4efb}\u{52a1} \u{1f600} \\";
        assert!(matches!(escaped(plain), Cow::Borrowed(text) if text == plain));
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let value = serde_json::json!({"a\u{9b}": "b\u{1b}\u{2028}\u{7f}"});
        let line = value.to_string();
        let escaped = escaped(&line);
        assert!(escaped.is_ascii(), "{escaped}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&escaped).unwrap(),
            value
        );
    }
}
