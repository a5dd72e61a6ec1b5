use std::{str::FromStr, sync::Arc, time::Duration};

use race_sim::{
    Hedged, Random, Report, ReportedChoices, Route, Setup, Simulation, TwoChoices,
    race_core::Adaptive,
};

use crate::parse::{duration, positive};

/// A client as the command line names it.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    name: String,
    policy: Policy,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Policy {
    Never,
    After(Duration),
    Extra(f64),
    Percentile { percent: f64, extra: f64 },
    Tied,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Random,
    Two,
    Reported,
}

impl Client {
    pub(crate) fn run(&self, simulation: &Simulation) -> Report {
        match self.place {
            Place::Random => self.run_with(simulation, |_| Random),
            Place::Two => self.run_with(simulation, |_| TwoChoices::default()),
            Place::Reported => self.run_with(simulation, |_| ReportedChoices),
        }
    }

    fn run_with<R: Route>(
        &self,
        simulation: &Simulation,
        route: impl Fn(&Setup) -> R + Sync,
    ) -> Report {
        let name = self.name.as_str();
        match self.policy {
            Policy::Never => simulation.run(name, |setup| Hedged::never(route(setup))),
            Policy::After(delay) => simulation.run(name, |setup| Hedged::new(delay, route(setup))),
            Policy::Extra(percent) => simulation.run(name, |setup| {
                let adaptive = Adaptive::extra_load(percent);
                Hedged::new(Arc::new(adaptive), route(setup))
            }),
            Policy::Percentile { percent, extra } => simulation.run(name, |setup| {
                let adaptive = Adaptive::percentile(percent).extra_load(extra);
                Hedged::new(Arc::new(adaptive.seed(setup.seed())), route(setup))
            }),
            Policy::Tied => simulation.run(name, |setup| {
                Hedged::new(Duration::ZERO, route(setup)).tied()
            }),
        }
    }
}

impl FromStr for Client {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('@');
        let (policy, place) = parts.ok_or("expected POLICY@ROUTE, such as extra:5@two")?;
        let parts: Vec<_> = policy.split(':').collect();
        let policy = match parts[..] {
            ["never"] => Policy::Never,
            ["after", delay] => Policy::After(duration(delay)?),
            ["extra", percent] => Policy::Extra(percentage(percent)?),
            ["percentile", percent, extra] => Policy::Percentile {
                percent: percentage(percent)?,
                extra: percentage(extra)?,
            },
            ["tied"] => Policy::Tied,
            _ => {
                return Err(format!(
                    "{policy:?} is not a policy: expected never, after:DELAY, extra:PERCENT, \
                     percentile:PERCENTILE:PERCENT or tied"
                ));
            }
        };
        let place = match place {
            "random" => Place::Random,
            "two" => Place::Two,
            "reported" => Place::Reported,
            _ => {
                return Err(format!(
                    "{place:?} is not a route: expected random, two or reported"
                ));
            }
        };
        let name = text.to_owned();
        Ok(Self {
            name,
            policy,
            place,
        })
    }
}

fn percentage(text: &str) -> Result<f64, String> {
    let percent = positive(text)?;
    match percent < 100.0 {
        true => Ok(percent),
        false => Err(format!("{text} is not below 100")),
    }
}
