use alloc::{
    borrow::ToOwned,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

/// The text, with spaces for whatever is not a letter that stands in its place.
pub(super) fn plain(text: impl fmt::Display) -> String {
    text.to_string().replace(breaks, " ")
}

/// Controls, separators of lines and paragraphs, and what is invisible or turns the direction of writing.
fn breaks(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

/// At most `room` characters of a text, with `…` in place `at` if some had to go. There is room for one.
pub(super) fn shorten(text: &str, room: usize, at: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= room {
        return text.to_owned();
    }
    let head = at.min(room - 1);
    let tail = &letters[letters.len() - (room - 1 - head)..];
    let mut short: String = letters[..head].iter().collect();
    short.push('…');
    short.extend(tail);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_line_is_a_space() {
        let text = "a\nb\r\tc\u{1b}[31md\u{2028}e\u{202e}f\u{85}g";
        assert_eq!(plain(text), "a b  c [31md e f g");
        assert_eq!(plain("Füße 镜像"), "Füße 镜像");
    }

    #[test]
    fn a_text_is_cut_where_it_is_said() {
        assert_eq!(shorten("abcdef", 6, 0), "abcdef");
        assert_eq!(shorten("abcdefg", 5, 2), "ab…fg");
        assert_eq!(shorten("abcdefg", 5, 9), "abcd…");
        assert_eq!(shorten("äöüß", 1, 0), "…");
    }
}
