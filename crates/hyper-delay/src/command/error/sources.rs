use std::{error::Error, fmt};

/// Displays an error and all its sources. Boxed, so that a result stays small.
#[derive(Debug)]
pub(crate) struct WithSources<E>(Box<E>);

impl<E> WithSources<E> {
    pub(super) fn new(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl<E: Error> fmt::Display for WithSources<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&chain(&*self.0))
    }
}

impl<E: Error> Error for WithSources<E> {}

/// Returns the message of an error and those of all its sources, in one line.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}
