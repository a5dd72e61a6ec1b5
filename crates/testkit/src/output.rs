//! Text for the user of an example. Unlike `println!`, it does not panic when the reader is gone.

use std::io::{self, Write as _};

/// Writes to the standard output. A closed pipe, as with `head -1`, is not an error.
///
/// # Errors
///
/// Any other error of the standard output.
pub fn print(text: &str) -> io::Result<()> {
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

/// Writes one line to the standard error. Control characters become spaces.
pub fn complain(line: &str) {
    let line = line.replace(char::is_control, " ") + "\n";
    // If this fails, there is no place left to report it.
    let _ = io::stderr().write_all(line.as_bytes());
}
