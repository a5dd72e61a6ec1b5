//! What others install: the crates of a registry, and the Debian package.

mod crates;
mod debian;
mod links;
mod repository;
mod stage;

pub(crate) use repository::Repository;

use crate::step::Outcome;

/// Packages the crates, without a repository, and the Debian package of a dev build.
pub(crate) fn run() -> Outcome {
    crates::package(None)?;
    debian::run()
}

/// The same with a release build, and the image. The crates are also compiled as packaged.
pub(crate) fn release() -> Outcome {
    crates::package(None)?.verify()?;
    debian::release()
}

/// Packages the crates for a registry, whose pages link to `repository`, and compiles them as
/// packaged.
pub(crate) fn for_registry(repository: &Repository) -> Outcome {
    let packaged = crates::package(Some(repository))?;
    packaged.verify()?;
    packaged.tell_how_to_publish();
    Ok(())
}
