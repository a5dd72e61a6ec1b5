use alloc::vec::Vec;
use core::time::Duration;

use super::*;
use crate::observe::{Cause, Event, EventKind, Observer as _, Refusal};

const STALLED: &str = "http://127.0.0.1:40401/file";

/// Reports events as `(milliseconds, index, kind)`.
fn observe(stairs: &mut Staircase, events: &[(u64, usize, EventKind)]) {
    for &(millis, index, kind) in events {
        stairs.observe(Event::new(
            index,
            Cause::Delay,
            Moment::from_nanos(7_000_000_000) + Duration::from_millis(millis),
            Duration::ZERO,
            kind,
        ));
    }
}

#[test]
fn race_is_drawn_as_a_staircase() {
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
            (0, 0, EventKind::Started),
            (50, 1, EventKind::Started),
            (72, 1, EventKind::Failed),
            (72, 2, EventKind::Started),
            (122, 3, EventKind::Started),
            (187, 3, EventKind::Won),
            (187, 0, EventKind::Cancelled),
            (187, 2, EventKind::Cancelled),
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
fn each_outcome_has_a_text_with_and_without_a_note() {
    let mut stairs = Staircase::new();
    let ends = [
        EventKind::Finished,
        EventKind::TimedOut,
        EventKind::Cancelled,
        EventKind::Failed,
    ];
    let mut events: Vec<_> = (0..5).map(|index| (0, index, EventKind::Started)).collect();
    events.extend(
        ends.iter()
            .enumerate()
            .map(|(index, &end)| (10, index, end)),
    );
    let gate = EventKind::Refused(Refusal::Gate);
    events.push((10, 5, gate));
    observe(&mut stairs, &events);
    let outcomes = |stairs: &Staircase| {
        (0..7)
            .map(|index| stairs.outcome(index))
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
            "not started: refused by the gate",
            "not started",
        ]
    );
    (0..5).for_each(|index| stairs.note(index, "7 of 9 bytes"));
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
        picture.ends_with("\n#5 not started: refused by the gate\n"),
        "{picture}"
    );
}

#[test]
fn long_names_and_notes_are_shortened_and_the_alternate_form_has_the_whole_note() {
    let url = format!("https://{}/{}", "host.".repeat(20), "file".repeat(20));
    let why = "a long story ".repeat(20);
    let mut stairs = Staircase::new().named(0, url).named(1, "short");
    observe(
        &mut stairs,
        &[
            (0, 0, EventKind::Started),
            (9_999, 0, EventKind::Failed),
            (9_999, 1, EventKind::Started),
            (9_999, 1, EventKind::Cancelled),
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
fn control_characters_do_not_break_lines_and_any_index_is_accepted() {
    let mut stairs = Staircase::new().named(usize::MAX, "a\nb".repeat(99));
    stairs.note(0, "one\r\ntwo\u{1b}[2J");
    observe(
        &mut stairs,
        &[(0, 0, EventKind::Started), (1, 0, EventKind::Failed)],
    );
    let picture = format!("{stairs:#}");
    assert_eq!(picture.lines().count(), 3, "{picture}");
    assert!(picture.contains("✗ one  two [2J\n"), "{picture}");
    assert!(picture.lines().all(|line| line.chars().count() <= WIDTH));
}

#[test]
fn empty_picture_is_an_axis() {
    let picture = format!("{}", Staircase::new());
    assert_eq!(picture.split_whitespace().collect::<String>(), "01ms");
}

#[test]
fn next_race_keeps_only_the_names() {
    let mut stairs = Staircase::new().named(1, "second");
    stairs.note(0, "a note from before");
    let first = [
        (0, 0, EventKind::Started),
        (5, 1, EventKind::Started),
        (6, 1, EventKind::Won),
    ];
    observe(&mut stairs, &first);
    assert_eq!(stairs.outcome(0), "still running: a note from before");
    observe(
        &mut stairs,
        &[(100, 0, EventKind::Started), (120, 0, EventKind::Won)],
    );
    assert_eq!(stairs.outcome(0), "won after 20 ms");
    assert!(format!("{stairs}").ends_with("\n#1 second not started\n"));
}
