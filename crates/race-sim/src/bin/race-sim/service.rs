use race_sim::Service;

use crate::parse::{duration, positive, time};

pub(crate) fn parse(text: &str) -> Result<Service, String> {
    let parts: Vec<_> = text.split(':').collect();
    match parts[..] {
        ["constant", mean] => Ok(Service::constant(time(mean)?)),
        ["exponential", mean] => Ok(Service::exponential(time(mean)?)),
        ["lognormal", mean, deviation] => Ok(Service::lognormal(time(mean)?, duration(deviation)?)),
        ["pareto", mean, exponent] => match positive(exponent)? {
            exponent if exponent > 1.0 => Ok(Service::pareto(time(mean)?, exponent)),
            _ => Err(format!(
                "the exponent {exponent} is not above 1: there is no mean"
            )),
        },
        _ => Err(
            "expected constant:TIME, exponential:MEAN, lognormal:MEAN:DEVIATION or \
                  pareto:MEAN:EXPONENT"
                .into(),
        ),
    }
}
