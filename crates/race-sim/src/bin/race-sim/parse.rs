//! Values of options. The errors say what is expected; the option and the value come from the
//! parser of the command line.

use std::time::Duration;

pub(crate) fn count(text: &str) -> Result<usize, String> {
    let count = text.parse().map_err(|_| "it is a whole number above 0")?;
    match count {
        0 => Err("it is a whole number above 0".into()),
        count => Ok(count),
    }
}

pub(crate) fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("{text:?} is not a number"))
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let number = number(text)?;
    match number > 0.0 {
        true => Ok(number),
        false => Err(format!("{text} is not above 0")),
    }
}

pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = number(text)?;
    match (0.0..=1.0).contains(&share) {
        true => Ok(share),
        false => Err(format!("{text} is not between 0 and 1")),
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text);
    let duration = duration.map_err(|_| format!("{text:?} is no duration, such as 10ms"))?;
    match duration.is_zero() {
        true => Err(format!("{text} is not above 0")),
        false => Ok(duration),
    }
}

/// Parses a share and a factor, such as 0.02x15.
pub(crate) fn slow(text: &str) -> Result<(f64, f64), String> {
    let parts = text.split_once('x');
    let (part, factor) = parts.ok_or("it is a share and a factor, such as 0.02x15")?;
    Ok((share(part)?, positive(factor)?))
}

/// Parses a number of servers and a factor, such as 2x6.
pub(crate) fn slow_servers(text: &str) -> Result<(usize, f64), String> {
    let parts = text.split_once('x');
    let (servers, factor) = parts.ok_or("it is a number of servers and a factor, such as 2x6")?;
    Ok((count(servers)?, positive(factor)?))
}

/// Parses a mean pause, a mean length and a factor, such as 10s:1s:5.
pub(crate) fn periods(text: &str) -> Result<(Duration, Duration, f64), String> {
    let parts: Vec<_> = text.split(':').collect();
    let [every, last, factor] = parts[..] else {
        return Err("it has three parts, such as 10s:1s:5".into());
    };
    Ok((duration(every)?, duration(last)?, positive(factor)?))
}
