//! The crates of a registry: packaged together, looked into, and compiled as packaged.

use std::{fs, path::PathBuf};

use super::{links, repository::Repository, stage};
use crate::{
    output,
    step::{Outcome, Step},
    workspace,
};

/// The crates, packaged.
pub(super) struct Packaged {
    /// The workspace of their copies.
    stage: PathBuf,
    /// The target directory of the copies.
    target: PathBuf,
    names: Vec<String>,
}

/// Packages all published crates, and looks into each. Without a `repository` they have no such
/// field, and no links to its files.
pub(super) fn package(repository: Option<&Repository>) -> Result<Packaged, String> {
    let target = workspace::target()?.join("registry");
    let packaged = Packaged {
        stage: target.join("stage"),
        names: workspace::published()?,
        target,
    };
    stage::write(&packaged.stage, &packaged.names, repository)?;
    // What earlier versions have left.
    let folder = packaged.target.join("package");
    if folder.exists() {
        let removed = fs::remove_dir_all(&folder);
        removed.map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    // So that the rest needs no network.
    Step::cargo("fetch --locked --target")
        .arg(workspace::host()?)
        .run()?;
    packaged.cargo("--no-verify")?;
    for name in &packaged.names {
        packaged.inspect(name, repository)?;
    }
    output::say(&format!("{} crates", packaged.names.len()));
    Ok(packaged)
}

impl Packaged {
    /// Compiles each crate as packaged, with all features, against the others as packaged.
    pub(super) fn verify(&self) -> Outcome {
        self.cargo("--all-features")
    }

    fn cargo(&self, arguments: &str) -> Outcome {
        // The copies are in no version control.
        Step::cargo(&format!(
            "package --offline --allow-dirty {arguments} --target-dir"
        ))
        .arg(&self.target)
        .directory(&self.stage.to_string_lossy())
        .run()
    }

    /// Says what a registry shows of a crate that it should not.
    fn inspect(&self, name: &str, repository: Option<&Repository>) -> Outcome {
        let folder = format!("{name}-{}", workspace::version(name)?);
        let file = self.target.join(format!("package/{folder}.crate"));
        let read = |path: &str| {
            let step = Step::new("tar -xzOf").arg(&file);
            let text = step.arg(format!("{folder}/{path}")).output();
            text.ok_or_else(|| format!("{} has no {path}", file.display()))
        };
        judge(
            &read("Cargo.toml")?,
            &read("README.md")?,
            &self.names,
            repository,
        )
        .map_err(|error| format!("{}: {error}", file.display()))
    }

    pub(super) fn tell_how_to_publish(&self) {
        let stage = self.stage.display();
        output::say(&format!(
            "read docs/publishing.md, then publish with\n(cd {stage} && cargo publish)"
        ));
    }
}

/// Judges the manifest and the README of a packaged crate.
fn judge(
    manifest: &str,
    readme: &str,
    names: &[String],
    repository: Option<&Repository>,
) -> Outcome {
    let field = manifest
        .lines()
        .find_map(|line| line.strip_prefix("repository = "));
    let expected = repository.map(|it| format!("{:?}", it.url()));
    if field != expected.as_deref() {
        return Err(format!(
            "its repository is {field:?} instead of {expected:?}"
        ));
    }
    let tested = |name: &&String| manifest.contains(&format!("\n[dev-dependencies.{name}]\n"));
    if let Some(name) = names.iter().find(tested) {
        return Err(format!(
            "it cannot be published before {name}, a dev-dependency: give that a path without a \
             version"
        ));
    }
    match links::all_relative(readme)?.first() {
        Some(link) => Err(format!("its README has the relative link {link:?}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packaged_crate_has_the_given_repository_and_no_traps() {
        let repository = Repository::parse("https://example.com/o/r").expect("it is a URL");
        let repository = Some(&repository);
        let names = ["race".to_owned()];
        let plain = "[package]\nname = \"a\"\n";
        let with_field = "[package]\nrepository = \"https://example.com/o/r\"\n";
        let tests_race = "[package]\n\n[dev-dependencies.race]\nversion = \"1\"\n";
        for (manifest, readme, repository, error) in [
            (plain, "[a](https://b)", None, None),
            (with_field, "", repository, None),
            (plain, "", repository, Some("its repository is None")),
            (with_field, "", None, Some("instead of None")),
            (tests_race, "", None, Some("before race, a dev-dependency")),
            (plain, "[a](b.md)", None, Some("relative link \"b.md\"")),
        ] {
            let judged = judge(manifest, readme, &names, repository);
            match error {
                None => assert_eq!(judged, Ok(())),
                Some(error) => assert!(judged.expect_err(error).contains(error)),
            }
        }
    }
}
