//! Tasks that run at the same time, in lanes: while the tests of one lane wait, the compiler of
//! another one works.

use std::{
    cell::Cell,
    panic,
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

/// Whether a task has failed.
pub(crate) fn has_failed() -> bool {
    HAS_FAILED.load(Ordering::Relaxed)
}

/// Runs phases one after the other, and prints a table of all.
///
/// # Errors
///
/// The first failure of a task, after which nothing begins.
pub(crate) fn run_all(phases: &[Vec<Vec<&Task>>]) -> Outcome {
    let begun = Instant::now();
    let outcome = phases.iter().try_for_each(|lanes| run_beside(lanes));
    report::print(begun.elapsed());
    outcome
}

/// Runs the tasks of each lane in order, and the lanes at the same time.
fn run_beside<'lanes>(lanes: &'lanes [Vec<&Task>]) -> Outcome {
    let has_others = lanes.len() > 1;
    thread::scope(|scope| {
        let start = |(number, tasks): (_, &'lanes Vec<_>)| {
            scope.spawn(move || run(number, tasks, has_others))
        };
        let lanes: Vec<_> = lanes.iter().enumerate().map(start).collect();
        let outcomes = lanes
            .into_iter()
            .map(|lane| lane.join().expect("the panic of a task is caught"));
        // Only the first failure is one.
        outcomes.fold(Ok(()), Result::and)
    })
}

fn run(number: usize, tasks: &[&Task], has_others: bool) -> Outcome {
    NUMBER.set(number);
    for task in tasks {
        if has_failed() {
            break;
        }
        if has_others {
            PREFIX.set(task.name);
        }
        let running = report::Running::task(task.name);
        let outcome = panic::catch_unwind(task.run);
        let outcome = outcome.unwrap_or_else(|_| Err("it panicked".to_owned()));
        let time = running.task_ended(report::End::of(&outcome));
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
