//! The thread that writes the log.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Write},
};

use super::buffer::{LogBuffer, LogLine};

/// Returns a duplicate of standard error. A write to it holds no lock: not even a write that
/// never ends keeps another thread from standard error.
pub(super) fn standard_error() -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        Ok(io::stderr().as_fd().try_clone_to_owned()?.into())
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle as _;
        Ok(io::stderr().as_handle().try_clone_to_owned()?.into())
    }
    #[cfg(not(any(unix, windows)))]
    Err(io::ErrorKind::Unsupported.into())
}

/// Writes the lines of a buffer for as long as the process runs.
pub(super) fn run(buffer: &LogBuffer, out: File) -> ! {
    let mut writer = StderrWriter::new(out);
    loop {
        let line = buffer.next();
        let is_written = writer.write(&text(&line));
        buffer.done(&line, is_written.is_ok());
    }
}

/// Returns the text of a line, with the number of those that were left out before it.
pub(super) fn text(line: &LogLine) -> Cow<'_, [u8]> {
    match line.left_out {
        0 => Cow::Borrowed(&line.text),
        lines => Cow::Owned(with_left_out(&line.text, lines)),
    }
}

/// Adds the number of lines that were left out: as the first key of a JSON object, or at the end.
fn with_left_out(line: &[u8], lines: u64) -> Vec<u8> {
    match line {
        [b'{', rest @ ..] => [format!("{{\"left_out\":{lines},").as_bytes(), rest].concat(),
        [text @ .., b'\n'] => [text, format!(" left_out={lines}\n").as_bytes()].concat(),
        _ => line.to_vec(),
    }
}

/// Writes whole lines, each in one call if the file takes it at once.
#[derive(Debug)]
struct StderrWriter {
    out: File,
    /// Whether a line was written in part. The next one begins with the end of that one.
    is_cut: bool,
}

impl StderrWriter {
    const fn new(out: File) -> Self {
        Self { out, is_cut: false }
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_cut {
            self.write_all(&[b"\n", line].concat(), 1)
        } else {
            self.write_all(line, 0)
        }
    }

    /// Writes a line that begins after `start` bytes.
    fn write_all(&mut self, bytes: &[u8], start: usize) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            match self.out.write(&bytes[written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    written += count;
                    self.is_cut = written > start && written < bytes.len();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Another process that shares the file has made it non-blocking, and may need it
                // so.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until the file takes something, or fails.
    #[cfg(unix)]
    fn wait(&self) -> io::Result<()> {
        use rustix::{
            event::{PollFd, PollFlags, poll},
            io::Errno,
        };
        match poll(&mut [PollFd::new(&self.out, PollFlags::OUT)], None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(unix))]
    fn wait(&self) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        io::Read as _,
        net::Shutdown,
        os::{fd::OwnedFd, unix::net::UnixStream},
        thread,
    };

    use super::*;

    fn pair() -> (StderrWriter, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("sockets can be made");
        (StderrWriter::new(File::from(OwnedFd::from(ours))), theirs)
    }

    #[test]
    fn the_number_of_lines_that_were_left_out_is_a_field() {
        let json = with_left_out(b"{\"level\":\"INFO\"}\n", 3);
        assert_eq!(json, b"{\"left_out\":3,\"level\":\"INFO\"}\n");
        let text = with_left_out(b"error: full\n", 12);
        assert_eq!(text, b"error: full left_out=12\n");
    }

    #[test]
    fn a_line_larger_than_what_a_non_blocking_file_takes_is_written_whole() {
        let (mut writer, mut reader) = pair();
        let socket = UnixStream::from(OwnedFd::from(writer.out.try_clone().unwrap()));
        socket.set_nonblocking(true).unwrap();
        let line = vec![b'x'; 4 << 20];
        let expected = line.clone();
        let writing = thread::spawn(move || writer.write(&line));
        let mut read = vec![0; expected.len()];
        reader.read_exact(&mut read).unwrap();
        writing.join().unwrap().unwrap();
        assert!(read == expected, "another line");
    }

    #[test]
    fn a_line_after_one_that_was_cut_begins_at_the_start_of_a_line() {
        let mut writer = StderrWriter::new(File::options().write(true).open("/dev/full").unwrap());
        let error = writer.write(b"first\n").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(!writer.is_cut, "nothing of it was written");
        let (other, mut reader) = pair();
        writer.out = other.out;
        writer.is_cut = true;
        writer.write(b"second\n").unwrap();
        writer.write(b"third\n").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "\nsecond\nthird\n");
    }

    #[test]
    fn a_reader_that_ends_in_the_middle_of_a_line_cuts_it() {
        let (mut writer, reader) = pair();
        let writing = thread::spawn(move || {
            let error = writer.write(&vec![b'x'; 16 << 20]).unwrap_err();
            (writer.is_cut, error.kind())
        });
        let mut first = [0];
        (&reader).read_exact(&mut first).unwrap();
        reader.shutdown(Shutdown::Both).unwrap();
        drop(reader);
        assert_eq!(writing.join().unwrap(), (true, io::ErrorKind::BrokenPipe));
    }
}
