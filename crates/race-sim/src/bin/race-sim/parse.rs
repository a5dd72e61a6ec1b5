//! Values of options. The errors say what is expected; the option and the value come from the
//! parser of the command line.

use std::time::Duration;

pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number above 0".into()),
        Ok(count) => Ok(count),
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
    duration.map_err(|error| format!("{text:?} is not a duration, such as 10ms: {error}"))
}

pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    match duration.is_zero() {
        true => Err(format!("{text} is not above 0")),
        false => Ok(duration),
    }
}

/// Parses a share and a factor, such as 0.02x15.
pub(crate) fn slow(text: &str) -> Result<(f64, f64), String> {
    let parts = text.split_once('x');
    let (part, factor) = parts.ok_or("expected SHARExFACTOR, such as 0.02x15")?;
    Ok((share(part)?, positive(factor)?))
}

/// Parses a number of servers and a factor, such as 2x6.
pub(crate) fn slow_servers(text: &str) -> Result<(usize, f64), String> {
    let parts = text.split_once('x');
    let (servers, factor) = parts.ok_or("expected SERVERSxFACTOR, such as 2x6")?;
    Ok((count(servers)?, positive(factor)?))
}

/// Parses a mean pause, a mean length and a factor, such as 10s:1s:5.
pub(crate) fn periods(text: &str) -> Result<(Duration, Duration, f64), String> {
    let parts: Vec<_> = text.split(':').collect();
    let [pause, length, factor] = parts[..] else {
        return Err("expected PAUSE:LENGTH:FACTOR, such as 10s:1s:5".into());
    };
    Ok((time(pause)?, time(length)?, positive(factor)?))
}
