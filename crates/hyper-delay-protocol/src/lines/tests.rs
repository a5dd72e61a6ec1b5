use super::*;

/// The lines in `pieces`, fed one after the other; `None` for a line that is too long.
fn split(limit: usize, pieces: &[&[u8]]) -> Vec<Option<String>> {
    let mut lines = Lines::new(limit);
    let mut found = Vec::new();
    for piece in pieces {
        lines.room().extend_from_slice(piece);
        while let Some(line) = lines.next() {
            let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
            found.push(line.ok().map(text));
        }
    }
    found
}

fn texts(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}

#[test]
fn a_line_ends_with_a_newline_or_a_return_and_a_newline() {
    assert_eq!(split(9, &[b"one\ntwo\r\nthree"]), texts(&["one", "two"]));
    assert_eq!(
        split(9, &[b"one\r", b"\ntwo", b"", b"\n"]),
        texts(&["one", "two"])
    );
}

#[test]
fn only_one_return_belongs_to_the_end() {
    assert_eq!(split(9, &[b"one\r\r\n\rtwo\n"]), texts(&["one\r", "\rtwo"]));
}

#[test]
fn empty_lines_are_skipped() {
    assert_eq!(
        split(9, &[b"\n\r\none\n\n", b"\r", b"\n\ntwo\n"]),
        texts(&["one", "two"])
    );
}

#[test]
fn the_limit_does_not_count_the_end() {
    assert_eq!(split(3, &[b"one\r\ntwo\n"]), texts(&["one", "two"]));
    assert_eq!(split(3, &[b"one\r", b"\ntwo\n"]), texts(&["one", "two"]));
}

#[test]
fn a_line_that_is_too_long_is_reported_once_and_skipped() {
    let one = texts(&["one"]);
    for pieces in [
        &[&b"four\none\n"[..]][..],
        &[b"four", b"\none\n"],
        &[b"fo", b"ur", b"five", b"six", b"\r\none\n"],
        &[b"one\r", b"\r\none\n"],
    ] {
        let found = split(3, pieces);
        assert_eq!((&found[0], &found[1..]), (&None, &one[..]), "{pieces:?}");
    }
}

/// The numbers of the lines in `pieces`, fed one after the other.
fn numbers(limit: usize, pieces: &[&[u8]]) -> Vec<u64> {
    let mut lines = Lines::new(limit);
    let mut found = Vec::new();
    for piece in pieces {
        lines.room().extend_from_slice(piece);
        while lines.next().is_some() {
            found.push(lines.number());
        }
    }
    found
}

#[test]
fn lines_are_numbered_from_1_and_empty_lines_count() {
    assert_eq!(numbers(9, &[b"one\ntwo\n"]), [1, 2]);
    assert_eq!(numbers(9, &[b"\n\r\none\n\n", b"\r", b"\n\ntwo\n"]), [3, 7]);
}

#[test]
fn a_line_that_is_too_long_has_one_number_whenever_it_is_reported() {
    for pieces in [
        &[&b"one\nfour\n\nsix\n"[..]][..],
        &[b"one\nfour", b"\n\nsix\n"],
        &[b"one\nfo", b"ur", b"and", b"more\n\n", b"six\n"],
    ] {
        assert_eq!(numbers(3, pieces), [1, 2, 4], "{pieces:?}");
    }
}

#[test]
fn an_unfinished_line_holds_at_most_the_limit_and_a_read() {
    let limit = 100_000;
    let mut lines = Lines::new(limit);
    let mut reports = 0;
    for _ in 0..1_000 {
        let room = lines.room();
        room.resize(room.capacity(), b'x');
        assert!(room.len() <= limit + 1 + READ.end(), "{}", room.len());
        while let Some(line) = lines.next() {
            assert!(line.is_err());
            reports += 1;
        }
    }
    assert_eq!(reports, 1);
}

#[test]
fn an_idle_splitter_holds_little() {
    let mut lines = Lines::new(1 << 24);
    for _ in 0..10 {
        let room = lines.room();
        room.resize(room.capacity(), b'x');
        assert!(lines.next().is_none());
    }
    lines.room().extend_from_slice(b"\nthe next");
    assert!(lines.next().unwrap().is_ok());
    assert!(lines.next().is_none());
    assert!(lines.buffer.capacity() <= 4 * 2 * READ.start());
    lines.room().extend_from_slice(b"\n");
    assert!(lines.next().unwrap().is_ok());
    assert!(lines.next().is_none());
    assert!(lines.room().capacity() <= 4 * 2 * READ.start());
}

#[test]
fn full_reads_get_more_room() {
    let mut lines = Lines::new(10);
    for _ in 0..10 {
        let room = lines.room();
        room.resize(room.capacity(), b'\n');
        assert!(lines.next().is_none());
    }
    assert!(lines.room().capacity() >= *READ.end());
}
