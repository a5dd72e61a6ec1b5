//! Tasks that run at the same time, in lanes: while the tests of one lane wait, the compiler of
//! another one works.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use crate::{Task, output, report, step::Outcome};

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
    static PREFIX: Cell<&'static str> = const { Cell::new("") };
}

/// A task of some lane has failed, so all lanes stop.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// The number of the lane of this thread.
pub(crate) fn number() -> usize {
    NUMBER.get()
}

/// The task whose output is printed now, if there are other lanes: each line begins with it.
pub(crate) fn prefix() -> &'static str {
    PREFIX.get()
}

/// Whether a task of another lane has failed.
pub(crate) fn is_over() -> bool {
    HAS_FAILED.load(Ordering::Relaxed)
}

/// Runs the tasks of each lane in order, and the lanes at the same time, and prints a table.
///
/// # Errors
///
/// The first failure of a task.
pub(crate) fn run_all<'lanes>(lanes: &'lanes [Vec<&Task>]) -> Outcome {
    let begun = Instant::now();
    let has_others = lanes.len() > 1;
    let outcome = thread::scope(|scope| {
        let start = |(number, tasks): (_, &'lanes Vec<_>)| {
            scope.spawn(move || run(number, tasks, has_others))
        };
        let lanes: Vec<_> = lanes.iter().enumerate().map(start).collect();
        let outcomes = lanes
            .into_iter()
            .map(|lane| lane.join().expect("a task does not panic"));
        let failures: Vec<String> = outcomes.filter_map(Result::err).collect();
        match failures.is_empty() {
            true => Ok(()),
            false => Err(failures.join("\n")),
        }
    });
    report::print(begun.elapsed());
    outcome
}

fn run(number: usize, tasks: &[&Task], has_others: bool) -> Outcome {
    NUMBER.set(number);
    for task in tasks {
        if is_over() {
            break;
        }
        if has_others {
            PREFIX.set(task.name);
        }
        let running = report::Running::task(task.name);
        let outcome = (task.run)();
        let time = running.task_ended();
        if let Err(error) = outcome {
            // What ends because another lane has failed is no failure of its own.
            return match HAS_FAILED.swap(true, Ordering::Relaxed) {
                true => Ok(()),
                false => Err(format!("task {}: {error}", task.name)),
            };
        }
        output::say(&format!(
            "task {} passed in {} s",
            task.name,
            time.as_secs()
        ));
    }
    Ok(())
}
