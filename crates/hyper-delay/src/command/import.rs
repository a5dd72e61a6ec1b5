mod imported_task;

use std::{
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    thread,
};

use clap::{ArgMatches, Args, error::ErrorKind, parser::ValueSource};
use hyper_delay_client::{Client, Code, RequestError};
use tokio::{sync::mpsc, task::JoinSet};

use self::imported_task::ImportedTask;
use super::{
    CommandError, input_file,
    output::{print, report},
    remote::Remote,
    restore,
};
use hyper_delay_archive::backup::{ImportLimits, Importer};
use hyper_delay_config::Config;

/// The longest line that is read. The longest of a server has 16 MiB.
const LONGEST: u64 = 32 << 20;

/// Lines that are read ahead, and schedules without a reply.
const AHEAD: usize = 1_024;

/// The import ends after this many refused lines in a row: they are no export.
const MOST_REFUSED: u32 = 100;

/// Schedule the tasks of an export.
///
/// Each line is a schedule as `hyper-delay export` prints it; id and route_key are required. The
/// tasks keep their ids and times; state and attempt are ignored, so a dead letter is delivered
/// again; expired tasks are left out. Bad lines are refused with their numbers, and the others are
/// imported; then the exit code is 3. An import can be repeated: a task that exists already does
/// not change.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay export data/db | hyper-delay import -
  hyper-delay import tasks.jsonl --to data/new")]
pub(super) struct Import {
    /// The file with the lines. - reads standard input.
    file: PathBuf,
    /// Write a data_dir instead of using a server. The directory must be new or empty.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// With --to: the max_line_bytes of the server that will use the directory.
    #[arg(long, value_name = "BYTES", requires = "to",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1_024..=1 << 24))]
    max_line_bytes: Option<usize>,
    /// With --to: the max_delay_days of the server that will use the directory.
    #[arg(long, value_name = "DAYS", requires = "to",
        value_parser = clap::value_parser!(u64).range(1..=36_500))]
    max_delay_days: Option<u64>,
    #[command(flatten)]
    remote: Remote,
}

/// Ends the process with an error if `--to` stands beside an option of the connection to a server.
/// Such a variable of the environment is no error: it is for other commands.
pub(super) fn check_options(command: &str, given: &ArgMatches) -> Result<(), clap::Error> {
    const OF_A_SERVER: [(&str, &str); 7] = [
        ("addr", "--addr"),
        ("tls", "--tls"),
        ("tls_ca", "--tls-ca"),
        ("tls_cert", "--tls-cert"),
        ("tls_key", "--tls-key"),
        ("tls_name", "--tls-name"),
        ("token_file", "--token-file"),
    ];
    if command != "import" || given.value_source("to").is_none() {
        return Ok(());
    }
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    if let Some((_, option)) = OF_A_SERVER.iter().find(|(id, _)| is_given(id)) {
        let message = format!(
            "--to writes a directory without a server, so {option} has no effect: leave out one of \
             them\n"
        );
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message));
    }
    Ok(())
}

/// A line with its number: a task, or why the line is refused.
type NumberedLine = (u64, Result<ImportedTask, String>);

impl Import {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let lines = read(&self.file)?;
        let counts = match &self.to {
            Some(to) => {
                let default = Config::default();
                let limits = ImportLimits {
                    line_bytes: self.max_line_bytes.unwrap_or(default.max_line_bytes),
                    delay_days: self.max_delay_days.unwrap_or(default.max_delay_days),
                };
                let store = Importer::begin(to, limits)?;
                let imported = into_store(lines, store).await;
                imported.inspect_err(|_| restore::note_unfinished(to))?
            }
            None => into_server(lines, self.remote.connect().await?).await?,
        };
        let ImportCounts {
            imported,
            refused,
            expired,
            ..
        } = counts;
        let expired = match expired {
            0 => String::new(),
            tasks => format!(", expired {tasks}"),
        };
        print(&format!("imported {imported}, refused {refused}{expired}"))?;
        match (refused, self.to) {
            (0, _) => Ok(()),
            (refused, None) => Err(CommandError::LinesRefused { refused }),
            (refused, Some(to)) => Err(CommandError::LinesRefusedTo { refused, to }),
        }
    }
}

/// Counts lines, and reports the refused ones.
#[derive(Debug, Default)]
struct ImportCounts {
    imported: u64,
    refused: u64,
    /// Tasks whose time has passed, which are left out.
    expired: u64,
    /// Refused lines since the last one that was imported.
    refused_in_a_row: u32,
}

impl ImportCounts {
    fn imported(&mut self) {
        self.imported += 1;
        self.refused_in_a_row = 0;
    }

    /// Counts a task whose name the server has with other content, so the lines are an export. That of
    /// a task with a delay has its time, which is other content.
    fn refused_duplicate(&mut self, line: u64, why: &str) -> Result<(), CommandError> {
        report(&format!("line {line}: {why}"))?;
        self.refused += 1;
        Ok(())
    }

    fn refused(&mut self, line: u64, why: &str) -> Result<(), CommandError> {
        self.refused_duplicate(line, why)?;
        self.refused_in_a_row += 1;
        match self.refused_in_a_row {
            MOST_REFUSED => Err(CommandError::NoExport {
                refused: MOST_REFUSED,
                imported: self.imported,
            }),
            _ => Ok(()),
        }
    }
}

async fn into_store(
    mut lines: mpsc::Receiver<io::Result<NumberedLine>>,
    mut store: Importer,
) -> Result<ImportCounts, CommandError> {
    let mut counts = ImportCounts::default();
    while let Some(line) = lines.recv().await {
        let (number, task) = line.map_err(CommandError::Input)?;
        let added = match task {
            Ok(task) if task.has_expired() => {
                counts.expired += 1;
                continue;
            }
            Ok(ImportedTask {
                route,
                id,
                schedule,
                original,
            }) => store.add((route, id), schedule, original)?,
            Err(why) => Err(why),
        };
        match added {
            Ok(()) => counts.imported(),
            Err(why) => counts.refused(number, &why)?,
        }
    }
    store.finish()?;
    Ok(counts)
}

async fn into_server(
    mut lines: mpsc::Receiver<io::Result<NumberedLine>>,
    client: Client,
) -> Result<ImportCounts, CommandError> {
    let mut counts = ImportCounts::default();
    let mut sent = JoinSet::new();
    while let Some(line) = lines.recv().await {
        let (number, task) = line.map_err(CommandError::Input)?;
        let task = match task {
            Ok(task) if task.has_expired() => {
                counts.expired += 1;
                continue;
            }
            Ok(task) => task,
            Err(why) => {
                counts.refused(number, &why)?;
                continue;
            }
        };
        // A replacement must follow the line that it replaces.
        let most = if task.schedule.replace { 0 } else { AHEAD - 1 };
        while sent.len() > most
            && let Some(answer) = sent.join_next().await
        {
            let (number, answer) = answer.expect("no schedule is aborted");
            count_answer(number, answer, &mut counts)?;
        }
        let client = client.clone();
        sent.spawn(async move { (number, client.schedule(task.into_task()).await.map(drop)) });
    }
    while let Some(answer) = sent.join_next().await {
        let (number, answer) = answer.expect("no schedule is aborted");
        count_answer(number, answer, &mut counts)?;
    }
    Ok(counts)
}

/// Counts a task that the server took or refused. Any other failure ends the import.
fn count_answer(
    number: u64,
    answer: Result<(), RequestError>,
    counts: &mut ImportCounts,
) -> Result<(), CommandError> {
    let of_this_line =
        |code: &Code| matches!(code, Code::BadField | Code::TooLong | Code::LineTooLong);
    match answer {
        Ok(()) => counts.imported(),
        Err(RequestError::Refused(refusal)) if refusal.code == Code::DuplicateId => {
            counts.refused_duplicate(number, &refusal.message)?;
        }
        Err(RequestError::Refused(refusal)) if of_this_line(&refusal.code) => {
            counts.refused(number, &refusal.message)?;
        }
        Err(error @ RequestError::TooLong { .. }) => counts.refused(number, &error.to_string())?,
        Err(source) => {
            return Err(CommandError::Import {
                line: number,
                source,
            });
        }
    }
    Ok(())
}

/// Reads and parses the lines on a thread of its own, as input can wait while the connection must
/// not.
fn read(file: &Path) -> Result<mpsc::Receiver<io::Result<NumberedLine>>, CommandError> {
    let mut input: Box<dyn BufRead + Send> = if file.as_os_str() == "-" {
        Box::new(BufReader::new(io::stdin()))
    } else {
        Box::new(BufReader::new(input_file::open(file, "an export")?))
    };
    let (sender, lines) = mpsc::channel(AHEAD);
    thread::spawn(move || {
        for number in 1.. {
            let line = match next(&mut *input) {
                Ok(None) => return,
                Ok(Some(line)) if line.trim_ascii().is_empty() => continue,
                Ok(Some(line)) if line.len() as u64 > LONGEST => {
                    Ok((number, Err(format!("it is longer than {LONGEST} bytes"))))
                }
                Ok(Some(line)) => Ok((number, ImportedTask::read(&line))),
                Err(error) => Err(error),
            };
            let has_failed = line.is_err();
            if sender.blocking_send(line).is_err() || has_failed {
                return;
            }
        }
    });
    Ok(lines)
}

/// Reads a line with its end, or the start of one that is too long.
fn next(input: &mut dyn BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = io::Read::take(&mut *input, LONGEST + 1).read_until(b'\n', &mut line)?;
    if read as u64 > LONGEST && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok((read > 0).then_some(line))
}

#[cfg(test)]
mod tests;
