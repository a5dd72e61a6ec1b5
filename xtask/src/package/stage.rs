//! Copies of the crates, as they are packaged: with the links and the field that a registry needs.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use super::{
    links::{self, Kind, Link},
    repository::{Page, Repository},
};
use crate::{step::Outcome, workspace};

/// Writes a workspace with copies of all crates into `stage`, which is emptied first. `published`
/// are its default members.
pub(super) fn write(
    stage: &Path,
    published: &[String],
    repository: Option<&Repository>,
) -> Outcome {
    if stage.exists() {
        fs::remove_dir_all(stage).map_err(|error| failed(stage, error))?;
    }
    let root = fs::read_to_string("Cargo.toml").map_err(|error| failed("Cargo.toml", error))?;
    store(&stage.join("Cargo.toml"), &root_manifest(&root, published))?;
    copy(Path::new("Cargo.lock"), &stage.join("Cargo.lock"))?;
    for folder in workspace::folders(Path::new("crates"))? {
        copy_folder(&folder, &stage.join(&folder))?;
    }
    // `race` is the one crate whose page is the README of the repository.
    document(Path::new("README.md"), stage, repository)?;
    for name in published {
        let folder = Path::new("crates").join(name);
        for file in workspace::entries(&folder)? {
            if file.extension().is_some_and(|it| it == "md") {
                document(&file, stage, repository)?;
            }
        }
        let path = stage.join(&folder).join("Cargo.toml");
        let manifest = fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
        store(&path, &crate_manifest(&manifest, repository))?;
    }
    Ok(())
}

/// The workspace without its root package and what belongs to it.
fn root_manifest(root: &str, published: &[String]) -> String {
    let quoted: Vec<_> = published
        .iter()
        .map(|it| format!("{:?}", format!("crates/{it}")))
        .collect();
    let mut manifest = format!(
        "[workspace]\nmembers = [\"crates/*\"]\ndefault-members = [{}]\nresolver = \"3\"\n",
        quoted.join(", ")
    );
    let sections = root.split("\n[").skip(1);
    for section in sections.filter(|section| section.starts_with("workspace.")) {
        manifest += &format!("\n[{section}");
    }
    manifest
}

fn crate_manifest(manifest: &str, repository: Option<&Repository>) -> String {
    match repository {
        Some(repository) => {
            let field = format!("[package]\nrepository = {:?}\n", repository.url());
            manifest.replacen("[package]\n", &field, 1)
        }
        None => manifest.to_owned(),
    }
}

/// Writes a copy of a file of the repository whose links lead somewhere.
fn document(file: &Path, stage: &Path, repository: Option<&Repository>) -> Outcome {
    let text = fs::read_to_string(file).map_err(|error| failed(file, error))?;
    let text = links::rewrite(&text, |link| destination(file, &link, repository));
    let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
    store(&stage.join(file), &text)
}

/// Where a link in `file` leads from outside the repository, if anywhere.
fn destination(
    file: &Path,
    link: &Link<'_>,
    repository: Option<&Repository>,
) -> Result<Option<String>, String> {
    let missing = || {
        format!(
            "the link to {:?} leads to no file of the repository: correct it",
            link.path
        )
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    let path = normalized(&folder.join(link.path)).ok_or_else(missing)?;
    if !path.exists() {
        return Err(missing());
    }
    let page = match link.kind {
        _ if path.is_dir() => Page::Folder,
        Kind::Image => Page::Raw,
        Kind::Text => Page::File,
    };
    Ok(repository.map(|repository| repository.page(page, &path, link.heading)))
}

/// The path without `..`. `None` if it leaves the repository.
fn normalized(path: &Path) -> Option<PathBuf> {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => normalized.push(name),
            Component::CurDir => {}
            Component::ParentDir if normalized.pop() => {}
            _ => return None,
        }
    }
    Some(normalized)
}

/// Copies a folder without what cargo has built in it. Links become what they lead to.
fn copy_folder(from: &Path, to: &Path) -> Outcome {
    for entry in workspace::entries(from)? {
        let name = entry.file_name().unwrap_or_default();
        match entry.is_dir() {
            true if name == "target" => {}
            true => copy_folder(&entry, &to.join(name))?,
            false => copy(&entry, &to.join(name))?,
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Outcome {
    make_parent(to)?;
    fs::copy(from, to).map_err(|error| failed(from, error))?;
    Ok(())
}

fn store(path: &Path, text: &str) -> Outcome {
    make_parent(path)?;
    fs::write(path, text).map_err(|error| failed(path, error))
}

fn make_parent(path: &Path) -> Outcome {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))
}

fn failed(path: impl AsRef<Path>, error: std::io::Error) -> String {
    format!("{}: {error}", path.as_ref().display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_manifest_keeps_what_crates_inherit() {
        let root = "[workspace]\nmembers = [\"x\"]\n\n[workspace.package]\nversion = \"1\"\n\n\
                    # The root.\n[package]\nname = \"root\"\n\n[workspace.lints.rust]\na = \"warn\"\n\n\
                    [profile.dev]\nopt-level = 2\n";
        assert_eq!(
            root_manifest(root, &["race".to_owned(), "race-core".to_owned()]),
            "[workspace]\nmembers = [\"crates/*\"]\n\
             default-members = [\"crates/race\", \"crates/race-core\"]\nresolver = \"3\"\n\n\
             [workspace.package]\nversion = \"1\"\n\n# The root.\n[workspace.lints.rust]\n\
             a = \"warn\"\n"
        );
    }

    #[test]
    fn field_is_written_only_with_a_repository() {
        let manifest = "[package]\nname = \"a\"\n";
        assert_eq!(crate_manifest(manifest, None), manifest);
        let repository = Repository::parse("https://example.com/o/r").expect("it is a URL");
        assert_eq!(
            crate_manifest(manifest, Some(&repository)),
            "[package]\nrepository = \"https://example.com/o/r\"\nname = \"a\"\n"
        );
    }

    #[test]
    fn paths_stay_in_the_repository() {
        let normal = |path| normalized(Path::new(path));
        assert_eq!(normal("crates/race/../../docs"), Some("docs".into()));
        assert_eq!(normal("crates/./race"), Some("crates/race".into()));
        assert_eq!(normal("crates/../../docs"), None);
        assert_eq!(normal("/etc"), None);
    }
}
