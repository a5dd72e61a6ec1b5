//! Command lines that a person can copy into a shell.

use std::{borrow::Cow, fmt::Write as _};

/// Returns the command that lists the dead letters of a route.
pub(super) fn list_dead(route: &str) -> String {
    match route.starts_with('-') {
        true => format!("hyper-delay dead -- {}", word(route)),
        false => format!("hyper-delay dead {}", word(route)),
    }
}

/// Returns the command that makes a dead letter due now.
pub(super) fn kick(route: &str, id: &str) -> String {
    let (word_of_route, id) = (word(route), word(id));
    match route.starts_with('-') {
        true => format!("hyper-delay dead --kick={id} -- {word_of_route}"),
        false => format!("hyper-delay dead {word_of_route} --kick={id}"),
    }
}

/// Quotes a text that a shell would change or split. Characters that a terminal does not show are
/// escaped, as bash and zsh read them.
fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |it: char| it.is_alphanumeric() || "_-./:,@+".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    if !text.chars().any(is_hidden) {
        return Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")));
    }
    let mut quoted = "$'".to_owned();
    for character in text.chars() {
        match character {
            '\'' | '\\' => quoted.extend(['\\', character]),
            _ if is_hidden(character) => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    write!(quoted, "\\{byte:03o}").expect("a string takes any text");
                }
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('\'');
    Cow::Owned(quoted)
}

/// Returns whether a terminal does not show a character as it is.
fn is_hidden(character: char) -> bool {
    !matches!(character, '\'' | '"' | '\\') && character.escape_debug().len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_change_is_quoted() {
        for (text, quoted) in [
            ("order-17", "order-17"),
            ("a/b.c:d_e,f@g+h", "a/b.c:d_e,f@g+h"),
            ("größe", "größe"),
            ("a b", "'a b'"),
            ("~a", "'~a'"),
            ("$HOME", "'$HOME'"),
            ("=ls", "'=ls'"),
            ("it's", r"'it'\''s'"),
            (r#"a"\b"#, r#"'a"\b'"#),
            ("", "''"),
            ("a\nb", r"$'a\012b'"),
            ("it's \\ \u{1b}7", r"$'it\'s \\ \0337'"),
            ("\u{202e}a", r"$'\342\200\256a'"),
        ] {
            assert_eq!(word(text), quoted);
        }
    }

    #[test]
    fn a_name_that_begins_with_a_dash_is_no_option() {
        assert_eq!(list_dead("a b"), "hyper-delay dead 'a b'");
        assert_eq!(list_dead("-a"), "hyper-delay dead -- -a");
        assert_eq!(kick("a", "-1"), "hyper-delay dead a --kick=-1");
        assert_eq!(kick("-a", "x y"), "hyper-delay dead --kick='x y' -- -a");
    }
}
