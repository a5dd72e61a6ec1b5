//! Arguments that are neither `Copy` nor `Clone`: the race takes them by value and returns each
//! with its output.
//!
//! `cargo run --example owned`

use std::{
    io::{self, Write as _},
    time::Duration,
};

use race::tokio::Race;
use tokio::time::sleep;

struct Document {
    title: String,
    lines: Vec<String>,
}

impl Document {
    fn new(title: &str, lines: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            lines: lines.iter().map(ToString::to_string).collect(),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let documents = vec![
        Document::new(
            "a long document",
            &["one word", "and then some more of them"],
        ),
        Document::new("a short document", &["three words only"]),
        Document::new("an empty document", &[]),
    ];

    // The future cannot borrow from the document, because the race keeps and moves the document.
    // Compute what the future needs before the `async move` block.
    let count_words = |document: &Document| {
        let words = document
            .lines
            .iter()
            .map(|line| line.split_whitespace().count())
            .sum::<usize>();
        async move {
            sleep(Duration::from_millis(30 * words as u64)).await;
            words
        }
    };

    let mut race = Race::new(Duration::from_millis(40), count_words, documents);
    while let Some((document, words)) = race.next().await {
        let Document { title, lines } = document; // the race has returned it
        let lines = lines.len();
        writeln!(io::stdout(), "{title}: {words} words in {lines} lines")?;
    }
    Ok(())
}
