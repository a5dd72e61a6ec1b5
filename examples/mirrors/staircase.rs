//! The picture of a race: a line for each attempt, from its start to its end, under one axis.

use std::{fmt::Write as _, time::Duration};

/// No line of the picture is wider.
const WIDTH: usize = 100;
/// Longer names are shortened in the middle.
const NAME: usize = 34;
/// What is kept free for the outcome of those who run until the end.
const OUTCOME: usize = 36;

/// An attempt, in times from the beginning of the race.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) started: Option<Duration>,
    pub(crate) ended: Option<(Duration, End)>,
}

#[derive(Debug)]
pub(crate) enum End {
    Fetched { bytes: usize, won: bool },
    Failed(String),
    Cancelled,
    Unfinished,
}

impl Lane {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            started: None,
            ended: None,
        }
    }

    /// Ends it, if it runs.
    pub(crate) fn end(&mut self, at: Duration, end: End) {
        if self.started.is_some() && self.ended.is_none() {
            self.ended = Some((at, end));
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.ended, Some((_, End::Failed(_))))
    }

    /// What became of it, in words.
    pub(crate) fn outcome(&self) -> String {
        match &self.ended {
            Some((at, End::Fetched { bytes, won: true })) => {
                format!("won: {bytes} bytes after {} ms", at.as_millis())
            }
            Some((_, End::Fetched { won: false, .. })) => "too late by a hair".to_owned(),
            Some((_, End::Failed(why))) => why.clone(),
            Some((_, End::Cancelled)) => "cancelled".to_owned(),
            Some((_, End::Unfinished)) => "unfinished".to_owned(),
            None => "not started".to_owned(),
        }
    }
}

/// Draws the race.
pub(crate) fn draw(lanes: &[Lane]) -> String {
    let scale = Scale::new(lanes);
    let mut picture = format!("{:1$}{2}\n", "", scale.name + 1, scale.axis());
    for (place, lane) in lanes.iter().enumerate() {
        let (name, width) = (name(place, lane), scale.name);
        let (bar, outcome) = scale.bar(lane);
        let line = format!("{name:width$} {bar}{outcome}");
        picture.push_str(line.trim_end());
        picture.push('\n');
    }
    picture
}

/// A line for each failure that the picture had no room for.
pub(crate) fn reasons_in_full(lanes: &[Lane]) -> String {
    let scale = Scale::new(lanes);
    let mut lines = String::new();
    for (place, lane) in lanes.iter().enumerate() {
        let outcome = lane.outcome();
        if scale.bar(lane).1 != outcome {
            lines += &format!("#{place}: {outcome}\n");
        }
    }
    lines
}

/// How time goes into columns, and what is left for the rest.
struct Scale {
    name: usize,
    columns: usize,
    span: Duration,
}

impl Scale {
    fn new(lanes: &[Lane]) -> Self {
        let names = lanes.iter().enumerate();
        let names = names.map(|(place, lane)| name(place, lane).chars().count());
        let name = names.max().unwrap_or(0);
        let ends = lanes.iter().filter_map(|lane| lane.ended.as_ref());
        let span = ends.map(|(at, _)| *at).max().unwrap_or_default();
        Self {
            name,
            columns: WIDTH - OUTCOME - name - 1,
            // Something to divide by.
            span: span.max(Duration::from_millis(1)),
        }
    }

    fn column(&self, at: Duration) -> usize {
        let part = at.as_secs_f64() / self.span.as_secs_f64();
        (part * self.columns as f64) as usize
    }

    /// A round number of milliseconds at each tick, at most five and the zero.
    fn axis(&self) -> String {
        let (whole, unit, name): (u64, fn(u64) -> Duration, _) = match self.span.as_secs() {
            0..10 => (self.span.as_millis() as u64, Duration::from_millis, "ms"),
            secs => (secs, Duration::from_secs, "s"),
        };
        let mut steps = (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10u64.pow(power)));
        let step = steps.find(|step| whole / step <= 5);
        let step = step.expect("the largest step is a quarter of what fits");
        let mut axis = String::new();
        for tick in (0..=whole / step).map(|tick| tick * step) {
            let column = self.column(unit(tick));
            let _ = write!(axis, "{:1$}{tick}", "", column.saturating_sub(axis.len()));
        }
        axis + " " + name
    }

    /// The bar from the left edge to its mark, and what fits behind it.
    fn bar(&self, lane: &Lane) -> (String, String) {
        let outcome = lane.outcome();
        let (Some(started), Some((ended, end))) = (lane.started, &lane.ended) else {
            return (String::new(), outcome);
        };
        let mark = match end {
            End::Fetched { .. } => '●',
            End::Failed(_) => '✗',
            End::Cancelled | End::Unfinished => '╌',
        };
        let (from, to) = (self.column(started), self.column(*ended));
        let bar = " ".repeat(from) + &"━".repeat(to - from) + &format!("{mark} ");
        let room = WIDTH - self.name - 1 - to - 2;
        (bar, shorten(&outcome, room, room))
    }
}

fn name(place: usize, lane: &Lane) -> String {
    let place = format!("#{place} ");
    let room = NAME - place.len();
    place + &shorten(&lane.name, room, room / 2)
}

/// At most `room` characters of a text, with `…` in place `at` if some had to go.
fn shorten(text: &str, room: usize, at: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= room {
        return text.to_owned();
    }
    let head = at.min(room - 1);
    let tail = &letters[letters.len() - (room - 1 - head)..];
    let mut short: String = letters[..head].iter().collect();
    short.push('…');
    short.extend(tail);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALLED: &str = "http://127.0.0.1:40401/file";

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn lane(name: &str, started: u64, ended: u64, end: End) -> Lane {
        let mut lane = Lane::new(name.to_owned());
        lane.started = Some(ms(started));
        lane.end(ms(ended), end);
        lane
    }

    fn failed(why: &str) -> End {
        End::Failed(why.to_owned())
    }

    #[test]
    fn a_race_is_drawn_as_a_staircase() {
        let won = End::Fetched {
            bytes: 1048,
            won: true,
        };
        let lanes = [
            lane(STALLED, 0, 187, End::Cancelled),
            lane("http://b/file", 50, 72, failed("503 Service Unavailable")),
            lane("http://c/file", 72, 187, End::Cancelled),
            lane("http://d/file", 122, 187, won),
            Lane::new("http://e/file".to_owned()),
        ];
        let picture = "
                               0       50       100      150 ms
#0 http://127.0.0.1:40401/file ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╌ cancelled
#1 http://b/file                       ━━━━✗ 503 Service Unavailable
#2 http://c/file                           ━━━━━━━━━━━━━━━━━━━━━╌ cancelled
#3 http://d/file                                    ━━━━━━━━━━━━● won: 1048 bytes after 187 ms
#4 http://e/file               not started
";
        assert_eq!(format!("\n{}", draw(&lanes)), picture);
        assert_eq!(reasons_in_full(&lanes), "");
    }

    #[test]
    fn long_names_and_reasons_are_shortened_and_the_reason_is_told_in_full() {
        let url = format!("https://{}/{}", "host.".repeat(20), "file".repeat(20));
        let why = "a long story ".repeat(20);
        let lanes = [
            lane(&url, 0, 9_999, failed(&why)),
            lane("short", 9_999, 9_999, End::Unfinished),
        ];
        let picture = draw(&lanes);
        let widest = picture.lines().map(|line| line.chars().count()).max();
        assert_eq!(widest, Some(WIDTH), "{picture}");
        assert!(
            picture.contains("#0 https://host.ho…ilefilefilefile "),
            "{picture}"
        );
        assert_eq!(reasons_in_full(&lanes), format!("#0: {why}\n"));
    }

    #[test]
    fn the_axis_has_round_numbers_whatever_the_span() {
        let axis = |micros| {
            let mut lanes = [lane(STALLED, 0, 0, End::Cancelled)];
            lanes[0].ended = Some((Duration::from_micros(micros), End::Cancelled));
            let axis = Scale::new(&lanes).axis();
            axis.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(axis(0), "0 1 ms");
        assert_eq!(axis(999), "0 1 ms");
        assert_eq!(axis(4_100), "0 1 2 3 4 ms");
        assert_eq!(axis(187_000), "0 50 100 150 ms");
        assert_eq!(axis(9_999_000), "0 2000 4000 6000 8000 ms");
        assert_eq!(axis(60_000_000), "0 20 40 60 s");
        assert_eq!(axis(3_000_000_000_000), "0 1000000 2000000 3000000 s");
    }

    #[test]
    fn nobody_makes_an_axis_and_no_more() {
        assert_eq!(draw(&[]).split_whitespace().collect::<String>(), "01ms");
    }
}
