use alloc::{
    format,
    string::{String, ToString as _},
};
use core::fmt;

use super::{Staircase, lane::Lane, scale::Scale, text::shorten};
use crate::Moment;

/// No line is wider.
const WIDTH: usize = 100;
/// Longer names are shortened in the middle.
const NAME: usize = 34;
/// What is kept free for the outcome of those who run until the end.
const OUTCOME: usize = 36;

/// How a staircase is laid out.
struct Picture<'a> {
    stairs: &'a Staircase,
    /// How wide the names are.
    names: usize,
    scale: Scale,
}

impl<'a> Picture<'a> {
    fn new(stairs: &'a Staircase) -> Self {
        let lanes = stairs.lanes.iter();
        let names = lanes.map(|(&place, lane)| name(place, lane).chars().count());
        let names = names.max().unwrap_or(0);
        let columns = WIDTH - OUTCOME - names - 1;
        Self {
            stairs,
            names,
            scale: Scale::new(stairs.latest.since(stairs.began), columns),
        }
    }

    fn column(&self, at: Moment) -> usize {
        self.scale.column(at.since(self.stairs.began))
    }

    /// The bar from the left edge to its mark, what fits behind it, and whether that is all of it.
    fn bar(&self, lane: &Lane) -> (String, String, bool) {
        let (mut bar, mut used) = (String::new(), self.names + 1);
        if let Some(started) = lane.started {
            let ended = lane.ended.map_or(self.stairs.latest, |(at, _)| at);
            let (from, to) = (self.column(started), self.column(ended));
            bar.extend((0..from).map(|_| ' '));
            bar.extend((from..to).map(|_| '━'));
            bar.extend([lane.mark(), ' ']);
            used += to.max(from) + 2;
        }
        let outcome = lane.outcome(self.stairs.began);
        let room = WIDTH - used;
        let short = shorten(&outcome, room, room);
        let is_all = short == outcome;
        (bar, short, is_all)
    }
}

fn name(place: usize, lane: &Lane) -> String {
    let place = format!("#{place} ");
    let room = NAME - place.len();
    let name = place + &shorten(&lane.name, room, room / 2);
    name.trim_end().to_string()
}

impl fmt::Display for Staircase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let picture = Picture::new(self);
        let width = picture.names;
        writeln!(f, "{:width$} {}", "", picture.scale.axis())?;
        for (&place, lane) in &self.lanes {
            let (name, (bar, outcome, _)) = (name(place, lane), picture.bar(lane));
            let line = format!("{name:width$} {bar}{outcome}");
            writeln!(f, "{}", line.trim_end())?;
        }
        if f.alternate() {
            for (place, lane) in &self.lanes {
                let (_, _, is_all) = picture.bar(lane);
                if !is_all {
                    writeln!(f, "#{place}: {}", lane.outcome(self.began))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::*;
    use crate::{Event, Observer as _, Suppressed, What};

    const STALLED: &str = "http://127.0.0.1:40401/file";

    /// What happened to whom, after so many milliseconds.
    fn observe(stairs: &mut Staircase, events: &[(u64, usize, What)]) {
        for &(millis, place, what) in events {
            stairs.observe(Event {
                place,
                at: Moment::from_nanos(7_000_000_000) + Duration::from_millis(millis),
                ran: Duration::ZERO,
                what,
            });
        }
    }

    #[test]
    fn a_race_is_drawn_as_a_staircase() {
        let mut stairs = Staircase::new()
            .named(0, STALLED)
            .named(1, "http://b/file")
            .named(2, "http://c/file")
            .named(3, "http://d/file")
            .named(4, "http://e/file");
        stairs.note(1, "503 Service Unavailable");
        stairs.note(3, format_args!("{} bytes", 1048));
        observe(
            &mut stairs,
            &[
                (0, 0, What::Started),
                (50, 1, What::Started),
                (72, 1, What::Failed),
                (72, 2, What::Started),
                (122, 3, What::Started),
                (187, 3, What::Won),
                (187, 0, What::Cancelled),
                (187, 2, What::Cancelled),
            ],
        );
        let picture = "
                               0        50       100     150 ms
#0 http://127.0.0.1:40401/file ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╌ cancelled
#1 http://b/file                        ━━━━✗ 503 Service Unavailable
#2 http://c/file                            ━━━━━━━━━━━━━━━━━━━━╌ cancelled
#3 http://d/file                                     ━━━━━━━━━━━● won: 1048 bytes after 187 ms
#4 http://e/file               not started
";
        assert_eq!(format!("\n{stairs}"), picture);
        assert_eq!(format!("\n{stairs:#}"), picture);
    }

    #[test]
    fn each_outcome_has_its_words_with_a_note_or_without() {
        let mut stairs = Staircase::new();
        let ends = [
            What::Finished,
            What::TimedOut,
            What::Cancelled,
            What::Failed,
        ];
        let mut events: Vec<_> = (0..5).map(|place| (0, place, What::Started)).collect();
        events.extend(
            ends.iter()
                .enumerate()
                .map(|(place, &end)| (10, place, end)),
        );
        let gate = What::Suppressed(Suppressed::Gate);
        events.push((10, 5, gate));
        observe(&mut stairs, &events);
        let outcomes = |stairs: &Staircase| {
            (0..7)
                .map(|place| stairs.outcome(place))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            outcomes(&stairs),
            [
                "finished",
                "timed out",
                "cancelled",
                "failed",
                "still running",
                "not started: stopped by the gate",
                "not started",
            ]
        );
        (0..5).for_each(|place| stairs.note(place, "7 of 9 bytes"));
        assert_eq!(
            outcomes(&stairs)[..5],
            [
                "7 of 9 bytes",
                "timed out: 7 of 9 bytes",
                "cancelled: 7 of 9 bytes",
                "7 of 9 bytes",
                "still running: 7 of 9 bytes",
            ]
        );
        let picture = format!("{stairs}");
        let marks: String = picture.matches(['●', '✗', '╌']).collect();
        assert_eq!(marks, "●✗╌✗╌");
        assert!(
            picture.ends_with("\n#5 not started: stopped by the gate\n"),
            "{picture}"
        );
    }

    #[test]
    fn long_names_and_reasons_are_shortened_and_the_reason_is_told_in_full() {
        let url = format!("https://{}/{}", "host.".repeat(20), "file".repeat(20));
        let why = "a long story ".repeat(20);
        let mut stairs = Staircase::new().named(0, url).named(1, "short");
        observe(
            &mut stairs,
            &[
                (0, 0, What::Started),
                (9_999, 0, What::Failed),
                (9_999, 1, What::Started),
                (9_999, 1, What::Cancelled),
            ],
        );
        stairs.note(0, &why);
        let picture = format!("{stairs}");
        let widest = picture.lines().map(|line| line.chars().count()).max();
        assert_eq!(widest, Some(WIDTH), "{picture}");
        assert!(
            picture.contains("#0 https://host.ho…ilefilefilefile "),
            "{picture}"
        );
        assert_eq!(format!("{stairs:#}"), format!("{picture}#0: {why}\n"));
    }

    #[test]
    fn no_text_breaks_the_picture_and_no_place_is_too_far() {
        let mut stairs = Staircase::new().named(usize::MAX, "a\nb".repeat(99));
        stairs.note(0, "one\r\ntwo\u{1b}[2J");
        observe(&mut stairs, &[(0, 0, What::Started), (1, 0, What::Failed)]);
        let picture = format!("{stairs:#}");
        assert_eq!(picture.lines().count(), 3, "{picture}");
        assert!(picture.contains("✗ one  two [2J\n"), "{picture}");
        assert!(picture.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn nobody_makes_an_axis_and_no_more() {
        let picture = format!("{}", Staircase::new());
        assert_eq!(picture.split_whitespace().collect::<String>(), "01ms");
    }

    #[test]
    fn another_race_forgets_the_first_but_for_its_names() {
        let mut stairs = Staircase::new().named(1, "second");
        stairs.note(0, "a note from before");
        let first = [
            (0, 0, What::Started),
            (5, 1, What::Started),
            (6, 1, What::Won),
        ];
        observe(&mut stairs, &first);
        assert_eq!(stairs.outcome(0), "still running: a note from before");
        observe(&mut stairs, &[(100, 0, What::Started), (120, 0, What::Won)]);
        assert_eq!(stairs.outcome(0), "won after 20 ms");
        assert!(format!("{stairs}").ends_with("\n#1 second not started\n"));
    }
}
