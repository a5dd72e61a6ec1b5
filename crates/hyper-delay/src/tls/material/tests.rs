use std::{fs, path::PathBuf};

use super::*;

fn files(directory: &Path) -> TlsFiles {
    for name in ["cert", "key", "client_ca"] {
        fs::write(directory.join(name), name).unwrap();
    }
    let file = |name: &str| -> PathBuf { directory.join(name) };
    TlsFiles {
        cert: file("cert"),
        key: file("key"),
        client_ca: Some(file("client_ca")),
    }
}

#[test]
fn a_stamp_changes_with_each_content_and_only_then() {
    let directory = tempfile::tempdir().unwrap();
    let files = files(directory.path());
    let stamp = || Material::read(&files).stamp();
    let first = stamp();
    for name in ["cert", "key", "client_ca"] {
        let file = directory.path().join(name);
        fs::write(&file, "other").unwrap();
        assert_ne!(stamp(), first, "{name}");
        fs::remove_file(&file).unwrap();
        let missing = stamp();
        assert_ne!(missing, first, "{name}");
        assert_eq!(missing, stamp());
        fs::write(&file, name).unwrap();
        assert_eq!(stamp(), first, "{name}");
    }
}

#[test]
fn a_file_of_more_than_a_mebibyte_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let files = files(directory.path());
    let file = File::create(&files.key).unwrap();
    file.set_len(MOST).unwrap();
    assert!(read(&files.key).is_ok());
    file.set_len(MOST + 1).unwrap();
    let error = read(&files.key).unwrap_err();
    assert_eq!(error.to_string(), "it is larger than 1 MiB");
}
