use alloc::{
    borrow::ToOwned,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

/// Returns the text with a space for each character that would break the layout of a line.
pub(super) fn plain(text: impl fmt::Display) -> String {
    text.to_string().replace(breaks_layout, " ")
}

/// Control characters, line and paragraph separators, invisible characters, and those that change
/// the direction of writing.
fn breaks_layout(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

/// Shortens a text to `room` characters, at least one: `…` replaces those from position `at` on
/// that do not fit.
pub(super) fn shorten(text: &str, room: usize, at: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= room {
        return text.to_owned();
    }
    let head = at.min(room - 1);
    let tail = &characters[characters.len() - (room - 1 - head)..];
    let mut short: String = characters[..head].iter().collect();
    short.push('…');
    short.extend(tail);
    short
}

#[cfg(test)]
mod tests;
