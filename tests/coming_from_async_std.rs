//! What docs/async-std.md says to write instead of async-std.

use std::{future::pending, time::Duration};

use race::smol::Race;
use smol::prelude::*;

const PAGE: &str = include_str!("../docs/async-std.md");

#[test]
fn each_row_of_the_page_is_compiled_here() {
    let this = squeeze(include_str!("coming_from_async_std.rs"));
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split(" | ").nth(1));
    let mut codes = 0;
    for code in cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)) {
        assert!(this.contains(&squeeze(code)), "not in this file: {code}");
        codes += 1;
    }
    assert!(codes >= 25, "{codes} pieces of code are no whole page");
}

/// Leaves out the white space, which rustfmt may change.
fn squeeze(code: &str) -> String {
    code.split_whitespace().collect()
}

async fn run() -> u8 {
    7
}

fn main() {
    smol::block_on(run());
}

#[test]
fn tasks() {
    main();
    assert_eq!(smol::block_on(run()), 7);
    smol::block_on(async {
        smol::spawn(run()).detach();
        assert_eq!(smol::spawn(run()).await, 7);
        let work = || 7;
        assert_eq!(smol::unblock(work).await, 7);

        let executor = smol::LocalExecutor::new();
        let local = async {
            let not_send = std::rc::Rc::new(7);
            smol::future::yield_now().await;
            *not_send
        };
        let task = executor.spawn(local);
        assert_eq!(executor.run(task).await, 7);
    });
}

#[test]
fn dropped_task_is_cancelled() {
    smol::block_on(async {
        let (sender, receiver) = smol::channel::bounded::<u8>(8);
        drop(smol::spawn(async move {
            pending::<()>().await;
            drop(sender);
        }));
        assert!(receiver.recv().await.is_err(), "the task has not ended");
    });
}

#[test]
fn time() {
    let time = Duration::from_millis(1);
    smol::block_on(async {
        smol::Timer::after(time).await;
        assert!(smol::Timer::interval(time).next().await.is_some());
    });
}

#[test]
fn input_and_output() -> std::io::Result<()> {
    smol::block_on(async {
        let listener = smol::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let mut stream = smol::net::TcpStream::connect(address).await?;
        stream.write_all(b"line\nrest").await?;
        drop(stream);
        let mut reader = smol::io::BufReader::new(listener.accept().await?.0);
        let (mut line, mut rest) = (String::new(), String::new());
        reader.read_line(&mut line).await?;
        reader.read_to_string(&mut rest).await?;
        assert_eq!((&*line, &*rest), ("line\n", "rest"));

        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/async-std.md");
        assert_eq!(smol::fs::read_to_string(path).await?, PAGE);
        drop(smol::Unblock::new(std::io::stdin()));
        let mut command = smol::process::Command::new("true");
        assert!(command.status().await?.success());
        Ok(())
    })
}

#[test]
fn locks() {
    smol::block_on(async {
        assert_eq!(*smol::lock::Mutex::new(0).lock().await, 0);
        assert_eq!(*smol::lock::RwLock::new(0).read().await, 0);
        assert!(smol::lock::Barrier::new(1).wait().await.is_leader());
        assert_eq!(*std::sync::Arc::new(0), 0);
    });
}

async fn output<T>(output: T) -> T {
    output
}

#[test]
fn several_futures() {
    smol::block_on(async {
        let futures = [output(1), output(2)];
        let first = Race::of(Duration::ZERO, futures).first().await;
        assert_eq!(first.expect("there are two").output, 1);

        let futures = [output(Err("broken")), output(Ok(2))];
        let first = Race::of(Duration::ZERO, futures).first_ok().await;
        assert_eq!(first.expect("one succeeds").output, 2);

        let (a, b) = (output(1), output(2));
        assert_eq!(smol::future::zip(a, b).await, (1, 2));
        let (a, b) = (output(Ok::<_, ()>(1)), output(Ok(2)));
        assert_eq!(smol::future::try_zip(a, b).await, Ok((1, 2)));
        let (a, b) = (pending(), output(2));
        assert_eq!(smol::future::or(a, b).await, 2);
    });
}

#[test]
fn timeout() {
    let time = Duration::from_millis(1);
    smol::block_on(async {
        let a = pending::<()>();
        let ended = Race::of(Duration::MAX, [a]).deadline(time).first().await;
        assert!(ended.is_none());
    });
}
