use std::{collections::VecDeque, rc::Rc, time::Duration};

use race_core::Moment;

use super::job::{Job, Stage};
use crate::service::seconds;

/// A queue of jobs, first in, first out, and the job that runs. Time is an argument.
pub(crate) struct Server {
    /// How many times as long as a server of normal speed it takes for a job.
    slowness: f64,
    /// The same, during a slow period; 1 outside of one.
    period: f64,
    queue: VecDeque<Rc<Job>>,
    running: Option<Running>,
    /// The jobs that run or wait, without those that were cancelled while they waited.
    in_flight: usize,
    /// The time it has worked on jobs that have ended.
    worked: Duration,
    /// How many jobs have begun.
    begun: u64,
}

struct Running {
    job: Rc<Job>,
    since: Moment,
}

/// A job has begun.
pub(crate) struct Begun {
    pub(crate) job: Rc<Job>,
    /// When it ends unless it is cancelled.
    pub(crate) until: Moment,
    /// Names this run of this server.
    pub(crate) run: u64,
}

impl Server {
    pub(crate) fn new(slowness: f64) -> Self {
        Self {
            slowness,
            period: 1.0,
            queue: VecDeque::new(),
            running: None,
            in_flight: 0,
            worked: Duration::ZERO,
            begun: 0,
        }
    }

    /// Makes the jobs that begin from now on take this many times as long; 1 ends a slow period.
    pub(crate) fn slow_down(&mut self, factor: f64) {
        self.period = factor;
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Returns the time it has worked up to now.
    pub(crate) fn worked(&self, now: Moment) -> Duration {
        let running = self.running.as_ref();
        self.worked + running.map_or(Duration::ZERO, |running| now.since(running.since))
    }

    pub(crate) fn push(&mut self, job: Rc<Job>) {
        self.in_flight += 1;
        self.queue.push_back(job);
    }

    /// Begins the next job unless one runs.
    pub(crate) fn begin(&mut self, now: Moment) -> Option<Begun> {
        if self.running.is_some() {
            return None;
        }
        let job = loop {
            let job = self.queue.pop_front()?;
            if job.stage() == Stage::Queued {
                break job;
            }
        };
        job.enter(Stage::Running);
        self.begun += 1;
        let until = now + seconds(job.work.as_secs_f64() * self.slowness * self.period);
        self.running = Some(Running {
            job: job.clone(),
            since: now,
        });
        let run = self.begun;
        Some(Begun { job, until, run })
    }

    /// Ends the job of this run, unless that run has ended before. Returns the job.
    pub(crate) fn end(&mut self, run: u64, now: Moment) -> Option<Rc<Job>> {
        if run != self.begun {
            return None;
        }
        self.stop(Stage::Answered, now)
    }

    /// Cancels a job, unless it has ended before. Returns it.
    pub(crate) fn cancel(&mut self, job: &Rc<Job>, now: Moment) -> Option<Rc<Job>> {
        match job.stage() {
            // It stays in the queue, and is skipped when its turn comes.
            Stage::Queued => {
                self.in_flight -= 1;
                job.enter(Stage::Cancelled);
                Some(job.clone())
            }
            Stage::Running => self.stop(Stage::Cancelled, now),
            Stage::Answered | Stage::Cancelled => None,
        }
    }

    fn stop(&mut self, stage: Stage, now: Moment) -> Option<Rc<Job>> {
        let Running { job, since } = self.running.take()?;
        job.enter(stage);
        job.set_took(now.since(since));
        self.worked += job.took();
        self.in_flight -= 1;
        Some(job)
    }
}
