use std::path::Path;

/// Returns the user to whom a file belongs, if that is neither the user of this process nor root.
#[cfg(unix)]
#[must_use]
pub fn foreign_owner(file: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;

    let owner = std::fs::metadata(file).ok()?.uid();
    let user = rustix::process::geteuid().as_raw();
    is_foreign(owner, user).then_some(owner)
}

#[cfg(not(unix))]
pub fn foreign_owner(_: &Path) -> Option<u32> {
    None
}

/// Root can change every file, so a file of root is as safe as one of the user.
#[cfg(unix)]
const fn is_foreign(owner: u32, user: u32) -> bool {
    owner != user && owner != 0
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_than_the_user_and_root_are_foreign() {
        assert!(is_foreign(1_000, 0) && is_foreign(1_000, 1_001));
        assert!(!is_foreign(0, 1_000) && !is_foreign(1_000, 1_000) && !is_foreign(0, 0));
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(foreign_owner(file.path()), None);
        assert_eq!(foreign_owner(&file.path().join("none")), None);
    }
}
