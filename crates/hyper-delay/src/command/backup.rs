use std::{
    fs::{self, File},
    io::{self, BufReader, IsTerminal as _, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use clap::Args;
use hyper_delay_client::{Client, Code, RequestError};
use jiff::Timestamp;

use super::{
    CommandError,
    output::{print, report},
    remote::Remote,
};
use hyper_delay_archive::backup;
use hyper_delay_fjall::data_directory::sync_with_parents;

/// Back up a running server.
///
/// The backup contains everything that was acknowledged before the command began. Deliveries, acks
/// and schedules continue. A copy of the folder of a running server is not a backup: its files do
/// not belong to one moment.
///
/// In a folder, the backup is a new file that is named after its moment. It gets its name after it
/// was read back. Only its owner may read it. Standard output has its path, standard error its
/// counts. If the server has tokens, a backup needs the right admin on every route (`*`); otherwise
/// the command must run on the server's machine.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay backup /var/backups/hyper-delay
  hyper-delay backup - | zstd > tasks.backup.zst")]
pub(super) struct Backup {
    /// The folder for the backup, created if it does not exist. - writes to standard output.
    to: PathBuf,
    #[command(flatten)]
    remote: Remote,
}

impl Backup {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        if self.to.as_os_str() == "-" {
            let mut out = io::stdout().lock();
            if out.is_terminal() {
                return Err(CommandError::Terminal);
            }
            let client = self.remote.connect().await?;
            return receive(&client, &mut out, CommandError::Output).await;
        }
        if self.to.exists() && !self.to.is_dir() {
            return Err(CommandError::NoFolder(self.to));
        }
        fs::create_dir_all(&self.to).map_err(CommandError::file(&self.to))?;
        let client = self.remote.connect().await?;
        let (path, checked) = into_folder(&client, &self.to).await?;
        print(&path.display().to_string())?;
        report(&checked.to_string())
    }
}

/// Writes a backup to a new file in a folder. It has its name once it is complete.
async fn into_folder(
    client: &Client,
    folder: &Path,
) -> Result<(PathBuf, backup::BackupSummary), CommandError> {
    let (mut file, path) = begin(folder, Timestamp::now).map_err(CommandError::file(folder))?;
    let unfinished = unfinished(&path);
    let failed = || CommandError::file(&unfinished);
    let written = async {
        receive(client, &mut file, failed()).await?;
        file.sync_all().map_err(failed())?;
        let written = File::open(&unfinished).map_err(failed())?;
        let checked = backup::check(BufReader::new(written), &unfinished.display().to_string())?;
        fs::rename(&unfinished, &path).map_err(CommandError::file(&path))?;
        sync_with_parents(folder).map_err(CommandError::file(folder))?;
        Ok((path.clone(), checked))
    };
    let written = written.await;
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Creates the file of an unfinished backup, which only its owner may read. Also returns the name
/// that the backup gets. Two backups of the same millisecond have different names.
fn begin(folder: &Path, now: impl Fn() -> Timestamp) -> io::Result<(File, PathBuf)> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let moment = now().strftime("%Y%m%dT%H%M%S%.3fZ");
        let path = folder.join(format!("hyper-delay-{moment}.backup"));
        match options.open(unfinished(&path)) {
            // The other backup of this millisecond may be complete.
            Ok(_) if path.exists() => fs::remove_file(unfinished(&path))?,
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The name of a backup until it is complete.
fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("backup.unfinished")
}

/// Writes the pieces of a backup.
async fn receive(
    client: &Client,
    out: &mut impl Write,
    failed: impl Fn(io::Error) -> CommandError,
) -> Result<(), CommandError> {
    let mut backup = client.backup();
    let mut is_begun = false;
    loop {
        let piece = match backup.next().await {
            Err(source) if is_begun && is_end(&source) => {
                return Err(CommandError::BackupCut { source });
            }
            piece => piece?,
        };
        let Some(piece) = piece else { break };
        is_begun = true;
        out.write_all(&piece).map_err(&failed)?;
    }
    out.flush().map_err(&failed)
}

/// Whether the connection has ended, or is about to.
fn is_end(error: &RequestError) -> bool {
    match error {
        RequestError::Disconnected => true,
        RequestError::Refused(refusal) => refusal.code == Code::ShuttingDown,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn two_backups_of_a_millisecond_have_different_names() {
        let folder = tempfile::tempdir().unwrap();
        let asked = Cell::new(0);
        let now = || {
            asked.set(asked.get() + 1);
            Timestamp::from_millisecond(1_700_000_000_000 + asked.get() / 3).unwrap()
        };
        let (_file, first) = begin(folder.path(), now).unwrap();
        let (_file, second) = begin(folder.path(), now).unwrap();
        assert_ne!(first, second);
        // One that is complete.
        fs::rename(unfinished(&second), &second).unwrap();
        asked.set(3);
        let (_file, third) = begin(folder.path(), now).unwrap();
        assert!(third != first && third != second, "{third:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
