//! Text for the user, which never panics: `println!` does when its reader has gone.

use std::io::{self, Write as _};

/// Writes to the standard output. A reader who has had enough, such as `head -1`, is no error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(io::Error::new(
            error.kind(),
            format!("cannot write to the standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

/// Writes one line to the standard error, whatever the text holds.
pub(crate) fn complain(line: &str) {
    let line = line.replace(char::is_control, " ") + "\n";
    // There is nobody left to tell if this fails.
    let _ = io::stderr().write_all(line.as_bytes());
}
