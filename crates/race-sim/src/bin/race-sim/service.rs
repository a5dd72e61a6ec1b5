use race_sim::Service;

use crate::parse::{duration, number};

pub(crate) fn parse(text: &str) -> Result<Service, String> {
    let parts: Vec<_> = text.split(':').collect();
    match parts[..] {
        ["constant", time] => Ok(Service::constant(duration(time)?)),
        ["exponential", mean] => Ok(Service::exponential(duration(mean)?)),
        ["lognormal", mean, deviation] => {
            Ok(Service::lognormal(duration(mean)?, duration(deviation)?))
        }
        ["pareto", mean, exponent] => match number(exponent)? {
            exponent if exponent > 1.0 => Ok(Service::pareto(duration(mean)?, exponent)),
            _ => Err(format!(
                "the exponent {exponent} is not above 1: there is no mean"
            )),
        },
        _ => Err(
            "it is constant:TIME, exponential:MEAN, lognormal:MEAN:DEVIATION or \
                  pareto:MEAN:EXPONENT"
                .into(),
        ),
    }
}
