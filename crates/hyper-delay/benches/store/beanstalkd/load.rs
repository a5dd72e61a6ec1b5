//! The same load in the protocol of beanstalkd, on the same [`Wire`].

use std::{io::Write as _, process, sync::Arc, time::Instant};

use hyper_delay::internals::load::{Cpu, LoadError, Wire};
use tokio::{sync::Barrier, task::JoinSet};

/// The requests of each task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A put of a task that is due later.
    Put,
    /// A put of a task that is due now, a reserve and a delete.
    PutReserveDelete,
}

/// The results of one load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) tasks_per_second: f64,
    pub(crate) server_cpu_us_per_task: f64,
    pub(crate) load_cpu_us_per_task: f64,
}

/// Runs `tasks` tasks over all connections, with at most `pipeline` pending on each. `server` is
/// the process id of beanstalkd.
pub(crate) async fn run(
    address: &str,
    server: u32,
    work: Work,
    (connections, pipeline): (u32, u32),
    tasks: u32,
    payload_bytes: usize,
) -> Result<Figures, LoadError> {
    let ready = Arc::new(Barrier::new(connections as usize + 1));
    let mut running = JoinSet::new();
    let each = tasks / connections;
    for _ in 0..connections {
        let (address, ready) = (address.to_owned(), ready.clone());
        running.spawn(async move {
            let mut wire = Wire::connect(&address, None).await?;
            ready.wait().await;
            connection(&mut wire, work, pipeline, each, payload_bytes).await
        });
    }
    ready.wait().await;
    let (before, own) = (Cpu::of(server)?, Cpu::of(process::id())?);
    let begin = Instant::now();
    while let Some(ended) = running.join_next().await {
        ended.expect("no connection panics")?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let done = f64::from(each * connections);
    let per_task =
        |pid, before| Ok::<_, LoadError>(Cpu::of(pid)?.since(before).as_secs_f64() * 1e6 / done);
    Ok(Figures {
        tasks_per_second: done / seconds,
        server_cpu_us_per_task: per_task(server, before)?,
        load_cpu_us_per_task: per_task(process::id(), own)?,
    })
}

async fn connection(
    wire: &mut Wire,
    work: Work,
    pipeline: u32,
    tasks: u32,
    payload_bytes: usize,
) -> Result<(), LoadError> {
    let delay = match work {
        Work::Put => 3_600,
        Work::PutReserveDelete => 0,
    };
    // The payload contains no line end, so beanstalkd sends it back as one line.
    let payload = "x".repeat(payload_bytes);
    let put = format!("put 0 {delay} 120 {payload_bytes}\r\n{payload}\r\n");
    let (mut next, mut done) = (0, 0);
    let mut answers = Vec::new();
    while done < tasks {
        while next < tasks.min(done + pipeline) {
            wire.out.extend_from_slice(put.as_bytes());
            next += 1;
        }
        wire.exchange().await?;
        while let Some(line) = wire.line() {
            let line = line?;
            if line.starts_with(b"INSERTED ") {
                match work {
                    Work::Put => done += 1,
                    Work::PutReserveDelete => answers.extend_from_slice(b"reserve\r\n"),
                }
            } else if let Some(reserved) = line.strip_prefix(b"RESERVED ") {
                let id = reserved.split(|byte| *byte == b' ').next();
                answers.extend_from_slice(b"delete ");
                answers.extend_from_slice(id.unwrap_or_default());
                answers.extend_from_slice(b"\r\n");
            } else if line == b"DELETED" {
                done += 1;
            } else if line != payload.as_bytes() {
                return Err(LoadError::Answer(String::from_utf8_lossy(line).into()));
            }
        }
        wire.out.write_all(&answers)?;
        answers.clear();
    }
    Ok(())
}
