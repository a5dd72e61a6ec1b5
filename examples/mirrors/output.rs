//! Text for the user, which never panics: `println!` does when its reader has gone.

use std::io::{self, Write as _};

/// Writes to the standard output. A reader who has had enough, such as `head -1`, is no error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Writes one line to the standard error, whatever the text holds.
pub(crate) fn complain(line: &str) {
    let mut one = String::with_capacity(line.len() + 1);
    for letter in line.chars() {
        match letter.is_control() {
            true => one.extend(letter.escape_default()),
            false => one.push(letter),
        }
    }
    one.push('\n');
    // There is nobody left to tell if this fails.
    let _ = io::stderr().write_all(one.as_bytes());
}
