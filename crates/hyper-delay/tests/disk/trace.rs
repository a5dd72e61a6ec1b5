//! Parses the output of `strace -f -yy -ttt`.

use std::collections::HashMap;

/// A system call. `begun` and `ended` are line indices in the trace.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// The text between the brackets: the arguments, with the files and sockets of descriptors.
    pub(crate) arguments: String,
    pub(crate) result: String,
    pub(crate) begun: usize,
    pub(crate) ended: usize,
}

/// Returns all finished calls in the order of their ends.
pub(crate) fn read(trace: &str) -> Vec<Call> {
    let mut begun: HashMap<&str, (usize, String)> = HashMap::new();
    let mut calls = Vec::new();
    for (place, line) in trace.lines().enumerate() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        // Skips the time.
        let Some((_, rest)) = rest.trim_start().split_once(' ') else {
            continue;
        };
        if let Some(start) = rest.strip_suffix("<unfinished ...>") {
            begun.insert(thread, (place, start.trim_end().to_owned()));
        } else if let Some(end) = rest.strip_prefix("<... ") {
            let Some((at, start)) = begun.remove(thread) else {
                continue;
            };
            let (_, end) = end.split_once(" resumed>").expect("a resumed call");
            calls.extend(call(&format!("{start}{end}"), at, place));
        } else {
            calls.extend(call(rest, place, place));
        }
    }
    calls
}

fn call(text: &str, begun: usize, ended: usize) -> Option<Call> {
    let (name, rest) = text.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    Some(Call {
        name: name.to_owned(),
        arguments: arguments.trim_end().trim_end_matches(')').to_owned(),
        result: result.to_owned(),
        begun,
        ended,
    })
}

impl Call {
    /// Whether the path or the socket of the call's descriptor contains `part`.
    pub(crate) fn is_on(&self, part: &str) -> bool {
        let descriptor = self.arguments.split_once('>').map_or("", |(name, _)| name);
        descriptor.contains(part)
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.result.starts_with('-')
    }
}

#[test]
fn interleaved_calls_of_threads_are_joined() {
    let trace = r#"7 1.5 write(3</x/0.jnl>, "id", 2 <unfinished ...>
8 1.6 fdatasync(3</x/0.jnl>) = 0
7 1.7 <... write resumed>) = 2
7 1.8 +++ exited with 0 +++"#;
    let calls = read(trace);
    assert_eq!(calls.len(), 2);
    assert_eq!(
        (&*calls[0].name, calls[0].begun, calls[0].ended),
        ("fdatasync", 1, 1)
    );
    assert_eq!(
        (&*calls[1].name, calls[1].begun, calls[1].ended),
        ("write", 0, 2)
    );
    assert_eq!(calls[1].arguments, r#"3</x/0.jnl>, "id", 2"#);
    assert!(calls[1].is_on(".jnl") && !calls[1].is_on("TCP"));
}
