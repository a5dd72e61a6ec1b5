use std::{fs, path::PathBuf};

use race_sim::{Report, chart};

/// Draws the figures of the documentation, if there is a folder for them.
pub(crate) struct Figures(Option<PathBuf>);

impl Figures {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    pub(crate) fn are_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Draws the tails of reports as `name.svg`.
    pub(crate) fn draw(&self, name: &str, title: &str, reports: &[Report]) {
        let Some(folder) = &self.0 else {
            return;
        };
        let file = folder.join(name).with_extension("svg");
        let written =
            fs::create_dir_all(folder).and_then(|()| fs::write(&file, chart(title, reports)));
        written.unwrap_or_else(|error| panic!("{} is not written: {error}", file.display()));
    }
}
