//! A process until its end: its time, what it has started, and how it is killed.

use std::{
    fs,
    io::{self, Read as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::{lane, output};

/// The time for the output to end after the process has ended.
pub(crate) const REST: Duration = Duration::from_secs(10);

/// Waits for the end of a process, and kills it after `limit`. Returns its processor time and the
/// stream that is kept, if there is one, or an error if another process holds it open.
pub(crate) fn finish(
    mut child: Child,
    limit: Duration,
    cleans: bool,
) -> (
    io::Result<ExitStatus>,
    Duration,
    Result<String, &'static str>,
) {
    let (sender, output) = mpsc::channel();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is the best there is to show.
        let _ = stdout.map(|mut stdout| stdout.read_to_end(&mut bytes));
        let _ = stderr.map(|mut stderr| stderr.read_to_end(&mut bytes));
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    let mut cpu = Duration::ZERO;
    let look = |id| cpu = processor_time(id).unwrap_or(cpu);
    let status = wait_with(child, limit, cleans, look);
    let output = output.recv_timeout(REST);
    (status, cpu, output.map_err(|_| output::STILL_RUNS))
}

/// Waits for the end of a process, and kills it after `limit`.
pub(crate) fn wait(child: Child, limit: Duration) -> io::Result<ExitStatus> {
    wait_with(child, limit, true, |_| ())
}

/// Looks at a process until it ends. It is killed after `limit`, and when another task has failed,
/// unless it `cleans`.
fn wait_with(
    mut child: Child,
    limit: Duration,
    cleans: bool,
    mut look: impl FnMut(u32),
) -> io::Result<ExitStatus> {
    let started = Instant::now();
    loop {
        look(child.id());
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let is_late = started.elapsed() >= limit;
        if is_late || !cleans && lane::has_failed() {
            kill(&mut child)?;
            let why = match is_late {
                true => format!("killed after {limit:?}"),
                false => "killed, as another task has failed".to_owned(),
            };
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Kills a process and what it has started.
fn kill(child: &mut Child) -> io::Result<()> {
    // What is stopped starts nothing, so in the end all are known. Afterwards they have another
    // parent.
    let mut all = vec![child.id()];
    loop {
        signal("-STOP", &all);
        let found = descendants(child.id());
        let known = all.len();
        all.extend(
            found
                .into_iter()
                .filter(|id| !all.contains(id))
                .collect::<Vec<_>>(),
        );
        if all.len() == known {
            break;
        }
    }
    signal("-KILL", &all[1..]);
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Sends a signal to processes. One that has ended, or a system without this program, is no error.
fn signal(name: &str, processes: &[u32]) {
    let ids = processes.iter().map(u32::to_string);
    let mut kill = Command::new("kill");
    if !processes.is_empty() {
        let _ = kill.arg(name).args(ids).stderr(Stdio::null()).status();
    }
}

/// The processes that a process has started, and those that they have. None where they are not
/// known.
fn descendants(id: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let process = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let parent = process.and_then(|process| Some((process, fields(process)?.parent)));
        parents.extend(parent);
    }
    let mut found = vec![id];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(child, _)| *child));
        next += 1;
    }
    found.split_off(1)
}

/// The processor time of a process, and of those that it has waited for. `None` where it is not
/// known.
fn processor_time(id: u32) -> Option<Duration> {
    Some(fields(id)?.time)
}

/// What `/proc` has of a process.
struct Fields {
    parent: u32,
    /// Processor time.
    time: Duration,
}

fn fields(id: u32) -> Option<Fields> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program, in parentheses, can have spaces. The first field after it is the
    // third one: the fourth is the parent, and the 14th to the 17th are user and system time, of the
    // process and of others.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let times = fields
        .skip(9)
        .take(4)
        .map(|field| field.parse::<u64>().ok());
    // Programs see hundredths of a second on Linux, whatever its tick is.
    let time = Duration::from_millis(10 * times.sum::<Option<u64>>()?);
    Some(Fields { parent, time })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Step;

    #[cfg(target_os = "linux")]
    #[test]
    fn limit_ends_what_a_process_has_started() {
        let begun = Instant::now();
        let mut step = Step::new("sh -c");
        step = step.arg("sh -c 'sleep 120; true' & sh -c 'sleep 120; true'");
        let error = step.output_within(Duration::from_millis(300));
        assert!(error.is_err_and(|error| error.contains("killed after")));
        assert!(begun.elapsed() < REST, "{:?}", begun.elapsed());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn processor_time_has_that_of_children() {
        let mut busy = Command::new("sh");
        let work = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; read line";
        busy.args(["-c", work]).stdin(Stdio::piped());
        let mut busy = busy.spawn().expect("there is a shell");
        let begun = Instant::now();
        while processor_time(busy.id()).is_none_or(|time| time < Duration::from_millis(20)) {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "it takes no time"
            );
            thread::sleep(Duration::from_millis(1));
        }
        drop(busy.stdin.take());
        busy.wait().expect("it is a child");
    }
}
