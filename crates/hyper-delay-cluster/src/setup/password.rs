//! The file with the password for etcd.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// The longest password in bytes.
const LONGEST: u64 = 1_024;

/// The file with the password for etcd cannot be used. The password is not shown.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// It cannot be read.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not one password. The reason is the cure.
    #[error("{}: {why}", file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
}

/// Reads a password: the file, without its last line break.
///
/// # Errors
///
/// If the file cannot be read, others than its owner have access to it, or it is not one password.
pub(super) fn read(path: &Path) -> Result<String, PasswordError> {
    let unreadable = |source| PasswordError::Unreadable {
        file: path.to_owned(),
        source,
    };
    let unusable = |why: &str| PasswordError::Unusable {
        file: path.to_owned(),
        why: why.to_owned(),
    };
    // Opening a pipe would wait for its writer.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(unusable("it is not a regular file: give one"));
    }
    let file = File::open(path).map_err(unreadable)?;
    if let Some(mode) = mode_of_others(&file).map_err(unreadable)? {
        return Err(unusable(&format!(
            "its mode is {mode:04o}, so others than its owner have access to it: run `chmod 600` \
             on it"
        )));
    }
    let mut text = String::new();
    file.take(LONGEST + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    match password {
        "" => Err(unusable(
            "it is empty: write the password of etcd_user into it",
        )),
        _ if text.len() as u64 > LONGEST => Err(unusable(
            "it is longer than 1 KiB: write nothing but the password of etcd_user into it",
        )),
        _ if password.contains('\n') => Err(unusable(
            "it has several lines: write nothing but the password of etcd_user into it",
        )),
        password => Ok(password.to_owned()),
    }
}

/// Returns the mode of a file if others than its owner have access.
#[cfg(unix)]
fn mode_of_others(file: &File) -> io::Result<Option<u32>> {
    use std::os::unix::fs::MetadataExt as _;

    let mode = file.metadata()?.mode() & 0o777;
    Ok((mode & 0o077 != 0).then_some(mode))
}

#[cfg(not(unix))]
fn mode_of_others(_: &File) -> io::Result<Option<u32>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(contents: &str) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, contents).unwrap();
        read(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_last_line_break_is_no_part_of_a_password() {
        for contents in ["s3 cret", "s3 cret\n", "s3 cret\r\n"] {
            assert_eq!(read_back(contents).unwrap(), "s3 cret");
        }
    }

    #[test]
    fn what_is_not_one_password_is_an_error_that_does_not_show_it() {
        let long = "s3cret".repeat(200);
        for (contents, why) in [
            ("", "it is empty"),
            ("\n", "it is empty"),
            ("s3cret\ns3cret\n", "it has several lines"),
            (&*long, "it is longer than 1 KiB"),
        ] {
            let error = read_back(contents).unwrap_err();
            assert!(error.contains(why) && !error.contains("s3cret"), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;

        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "s3cret").unwrap();
        let mode = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(&file, mode).unwrap();
        let error = read(file.path()).unwrap_err().to_string();
        assert!(
            error.contains("its mode is 0640") && error.contains("chmod 600"),
            "{error}"
        );
    }
}
