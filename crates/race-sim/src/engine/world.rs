use std::{cell::RefCell, rc::Rc, time::Duration};

use fastrand::Rng;
use race_core::{Moment, test::VirtualClock};

use super::{
    events::{Event, Events},
    job::{Job, Stage},
    server::Server,
};
use crate::{
    Losers, Run, Simulation,
    random::{Purpose, above_zero, stream},
    run::{Record, is_unstable},
    service::seconds,
};

/// What the clients of one run share.
pub(crate) struct World {
    simulation: Simulation,
    seed: u64,
    clock: VirtualClock,
    state: RefCell<State>,
}

struct State {
    servers: Vec<Server>,
    events: Events,
    arrivals: Rng,
    /// For the slow periods of each server.
    periods: Vec<Rng>,
    records: Vec<Record>,
    /// When the first request after the warm-up arrived, and how long servers had worked by then.
    warm: (Moment, Duration),
    /// The same for the last request.
    last: (Moment, Duration),
}

impl World {
    pub(crate) fn new(simulation: Simulation, seed: u64) -> Self {
        let slowness = |server| simulation.slowness(server);
        let count = simulation.servers;
        let mut state = State {
            servers: (0..count).map(|it| Server::new(slowness(it))).collect(),
            events: Events::default(),
            arrivals: stream(seed, Purpose::Arrivals),
            periods: (0..count)
                .map(|it| stream(seed, Purpose::Periods(it)))
                .collect(),
            records: Vec::with_capacity(simulation.requests),
            warm: (Moment::ZERO, Duration::ZERO),
            last: (Moment::ZERO, Duration::ZERO),
        };
        state.plan_arrival(&simulation, Moment::ZERO);
        for server in 0..count {
            state.plan_slow_period(&simulation, server, Moment::ZERO);
        }
        Self {
            simulation,
            seed,
            clock: VirtualClock::new(),
            state: RefCell::new(state),
        }
    }

    pub(crate) fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    pub(crate) fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the moment of the next event.
    pub(crate) fn next(&self) -> Moment {
        self.state.borrow().events.next()
    }

    /// Returns whether no more requests arrive and all servers are idle.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.state.borrow();
        let is_idle = |server: &Server| server.in_flight() == 0;
        state.has_all(&self.simulation) && state.servers.iter().all(is_idle)
    }

    pub(crate) fn in_flight(&self, server: usize) -> usize {
        self.state.borrow().servers[server].in_flight()
    }

    /// Handles the events that are due, until a request arrives. Returns its number.
    pub(crate) fn step(&self) -> Option<u64> {
        let now = self.clock.now();
        loop {
            let event = self.state.borrow_mut().events.due(now)?;
            match event {
                Event::Arrival => return Some(self.arrive(now)),
                Event::End { server, run } => {
                    let ended = self.state.borrow_mut().servers[server].end(run, now);
                    self.ended(server, ended, now);
                }
                Event::Cancel(job) => self.cancel(&job, now),
                Event::Untie(job) if job.stage() == Stage::Queued => self.cancel(&job, now),
                Event::Untie(_) => {}
                Event::SlowDown { server } => self.slow_down(server, now),
                Event::Recover { server } => {
                    let mut state = self.state.borrow_mut();
                    state.servers[server].slow_down(1.0);
                    state.plan_slow_period(&self.simulation, server, now);
                }
            }
        }
    }

    fn arrive(&self, now: Moment) -> u64 {
        let mut state = self.state.borrow_mut();
        let number = state.records.len();
        if number == self.simulation.warm_up {
            state.warm = (now, state.worked(now));
        }
        state.records.push(Record::arrived(now));
        match state.has_all(&self.simulation) {
            true => state.last = (now, state.worked(now)),
            false => state.plan_arrival(&self.simulation, now),
        }
        number as u64
    }

    /// Puts a job into the queue of its server.
    pub(crate) fn submit(&self, job: Rc<Job>) {
        let now = self.clock.now();
        let server = job.server;
        let mut state = self.state.borrow_mut();
        state.records[job.request as usize].sent += 1;
        if job
            .others()
            .iter()
            .any(|other| other.stage() == Stage::Running)
        {
            let at = now + self.simulation.message_delay;
            state.events.insert(at, Event::Untie(job.clone()));
        }
        state.servers[server].push(job);
        drop(state);
        self.begin(server, now);
    }

    /// The client of a job has stopped waiting for it.
    pub(crate) fn abandon(&self, job: &Rc<Job>) {
        job.abandon();
        if job.is_over() {
            // It was answered when another one won, or was tied and removed.
            self.state.borrow_mut().records[job.request as usize].wasted += job.took();
        } else if self.simulation.losers == Losers::Cancelled {
            job.release();
            let at = self.clock.now() + self.simulation.message_delay;
            let cancel = Event::Cancel(job.clone());
            self.state.borrow_mut().events.insert(at, cancel);
        }
    }

    fn cancel(&self, job: &Rc<Job>, now: Moment) {
        let server = job.server;
        let ended = self.state.borrow_mut().servers[server].cancel(job, now);
        self.ended(server, ended, now);
    }

    fn ended(&self, server: usize, ended: Option<Rc<Job>>, now: Moment) {
        let Some(job) = ended else {
            return;
        };
        let mut state = self.state.borrow_mut();
        let record = &mut state.records[job.request as usize];
        record.worked += job.took();
        if job.is_abandoned() {
            record.wasted += job.took();
        }
        drop(state);
        self.begin(server, now);
        // No state is borrowed here, as these run the code of clients.
        job.release();
        job.wake();
    }

    /// Begins the next job of a server, if it has one and is idle.
    fn begin(&self, server: usize, now: Moment) {
        let state = &mut *self.state.borrow_mut();
        if let Some(begun) = state.servers[server].begin(now) {
            let run = begun.run;
            state.events.insert(begun.until, Event::End { server, run });
            for other in begun.job.others() {
                let at = now + self.simulation.message_delay;
                state.events.insert(at, Event::Untie(other));
            }
        }
    }

    fn slow_down(&self, server: usize, now: Moment) {
        let Some(periods) = self.simulation.slow_periods else {
            return;
        };
        let mut state = self.state.borrow_mut();
        state.servers[server].slow_down(periods.factor);
        let lasts = exponential(&mut state.periods[server], periods.length);
        state.events.insert(now + lasts, Event::Recover { server });
    }

    /// A request was answered.
    pub(crate) fn finish(&self, number: u64) {
        let now = self.clock.now();
        let record = &mut self.state.borrow_mut().records[number as usize];
        record.took = now.since(record.arrived);
    }

    pub(crate) fn into_run(self: Rc<Self>) -> Run {
        let state = &mut *self.state.borrow_mut();
        let (from, before) = state.warm;
        let (until, after) = state.last;
        let available = until.since(from).as_secs_f64() * self.simulation.servers as f64;
        let worked = after.saturating_sub(before).as_secs_f64();
        let utilisation = if available > 0.0 {
            worked / available
        } else {
            0.0
        };
        let is_unstable = is_unstable(&state.records);
        let records = state.records.split_off(self.simulation.warm_up);
        Run::new(records, utilisation, is_unstable)
    }
}

impl State {
    /// Returns whether all requests have arrived.
    fn has_all(&self, simulation: &Simulation) -> bool {
        self.records.len() == simulation.requests
    }

    /// Returns how long all servers have worked.
    fn worked(&self, now: Moment) -> Duration {
        self.servers.iter().map(|server| server.worked(now)).sum()
    }

    fn plan_arrival(&mut self, simulation: &Simulation, now: Moment) {
        let units = -above_zero(&mut self.arrivals).ln();
        self.events
            .insert(simulation.arrival(now, units), Event::Arrival);
    }

    fn plan_slow_period(&mut self, simulation: &Simulation, server: usize, now: Moment) {
        // If these events did not end, a request that is never answered would not be noticed.
        let has_all = self.has_all(simulation);
        if let Some(periods) = simulation.slow_periods.filter(|_| !has_all) {
            let pause = exponential(&mut self.periods[server], periods.pause);
            self.events.insert(now + pause, Event::SlowDown { server });
        }
    }
}

fn exponential(rng: &mut Rng, mean: Duration) -> Duration {
    seconds(-mean.as_secs_f64() * above_zero(rng).ln())
}
