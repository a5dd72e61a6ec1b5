use std::fs;

use super::*;
use crate::{
    access::{Right, Tokens},
    secret::Secret,
};

fn entry(name: &str, rights: &[Right], routes: &[&str]) -> Result<(TokenEntry, Secret), String> {
    let routes = routes.iter().map(|route| (*route).to_owned()).collect();
    TokenEntry::new(name.to_owned(), rights.to_vec(), routes)
}

/// Writes a file with these tokens, and reads it again.
fn written(entries: impl IntoIterator<Item = TokenEntry>) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tokens.json");
    let mut file = TokenFile::read_or_new(&path).unwrap();
    for entry in entries {
        file.add(entry).unwrap();
    }
    file.write().unwrap();
    (directory, path)
}

#[test]
fn tokens_of_a_file_give_what_they_say() {
    let (one, first) = entry("billing", &[Right::Schedule], &["mail*"]).unwrap();
    let (two, second) = entry("worker", &[Right::Consume, Right::Admin], &["*"]).unwrap();
    let (_directory, path) = written([one, two]);
    let tokens = Tokens::read(&path).unwrap();
    assert_eq!(tokens.len(), 2);
    let grant = tokens.grant(&first).unwrap();
    assert_eq!(grant.name, "billing");
    assert!(grant.allows(Right::Schedule, "mail-1"));
    assert!(!grant.allows(Right::Schedule, "pay"));
    assert!(!grant.allows(Right::Consume, "mail-1"));
    assert!(tokens.grant(&second).unwrap().allows(Right::Admin, "pay"));

    let (_, unknown) = entry("other", &[Right::Admin], &["*"]).unwrap();
    assert_eq!(tokens.grant(&unknown), None);
}

#[test]
fn right_id_with_a_wrong_secret_gives_nothing() {
    let (one, first) = entry("one", &[Right::Admin], &["*"]).unwrap();
    let (_directory, path) = written([one]);
    let (_, second) = entry("two", &[Right::Admin], &["*"]).unwrap();
    let mixed = second.reveal().replacen(second.id(), first.id(), 1);
    let mixed = Secret::parse(&mixed).unwrap();
    assert_eq!(mixed.id(), first.id());
    assert_eq!(Tokens::read(&path).unwrap().grant(&mixed), None);
}

#[test]
fn file_has_no_secret_and_only_its_owner_can_read_it() {
    let (one, secret) = entry("one", &[Right::Admin], &["*"]).unwrap();
    let (_directory, path) = written([one]);
    let text = fs::read_to_string(&path).unwrap();
    let random = secret.reveal();
    assert!(!text.contains(random.rsplit_once('_').unwrap().1));
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Tokens::read(&path).unwrap_err().to_string();
        assert!(error.contains("its mode is 640"), "{error}");
        assert!(error.contains("chmod 600"), "{error}");
    }
}

#[test]
fn removed_and_changed_tokens_no_longer_hold() {
    let (one, first) = entry("one", &[Right::Admin], &["*"]).unwrap();
    let (two, _) = entry("two", &[Right::Admin], &["*"]).unwrap();
    let (_directory, path) = written([one.clone(), two]);
    let before = Tokens::read(&path).unwrap();
    let grant = before.grant(&first).unwrap();
    assert!(before.still_give(&grant));

    let mut file = TokenFile::read(&path).unwrap();
    assert!(file.remove(first.id()));
    assert!(!file.remove(first.id()));
    file.write().unwrap();
    let after = Tokens::read(&path).unwrap();
    assert_eq!((after.len(), after.grant(&first)), (1, None));
    assert!(!after.still_give(&grant));

    let (other, _) = entry("one", &[Right::Admin], &["*"]).unwrap();
    let mut other_hash = TokenEntry {
        sha256: other.sha256,
        ..one.clone()
    };
    other_hash.check().unwrap();
    assert!(!Tokens::of(&[other_hash]).still_give(&grant));
    let changed = TokenEntry {
        rights: vec![Right::Consume],
        ..one
    };
    assert!(!Tokens::of(&[changed]).still_give(&grant));
}

/// Returns the error of a file with this content.
fn error(json: &str) -> String {
    let (_directory, path) = written([]);
    fs::write(&path, json).unwrap();
    Tokens::read(&path).unwrap_err().to_string()
}

#[test]
fn bad_files_are_errors_that_name_the_token_and_the_cure() {
    let hash = "0".repeat(64);
    let token = |id: &str, name: &str, sha256: &str, rights: &str, routes: &str| {
        format!(
            r#"{{"tokens":[{{"id":"{id}","name":"{name}","sha256":"{sha256}","rights":{rights},"routes":{routes}}}]}}"#
        )
    };
    let id = "0123456789ab";
    let cases = [
        (
            token("x", "n", &hash, r#"["admin"]"#, r#"["*"]"#),
            "12 hexadecimal digits",
        ),
        (
            token(id, "", &hash, r#"["admin"]"#, r#"["*"]"#),
            "its name is",
        ),
        (
            token(id, "n", "00", r#"["admin"]"#, r#"["*"]"#),
            "its sha256",
        ),
        (
            token(id, "n", &hash, "[]", r#"["*"]"#),
            "schedule, consume, admin",
        ),
        (
            token(id, "n", &hash, r#"["admin"]"#, "[]"),
            "its routes are []",
        ),
        (
            token(id, "n", &hash, r#"["root"]"#, r#"["*"]"#),
            "unknown variant `root`",
        ),
        ("{}".to_owned(), "missing field `tokens`"),
        ("".to_owned(), "hyper-delay token new"),
    ];
    for (json, part) in cases {
        let error = error(&json);
        assert!(error.contains(part), "{part:?} is missing in {error}");
    }
    let one = token(id, "n", &hash, r#"["admin"]"#, r#"["*"]"#);
    let neither = one.replace(&format!(r#""sha256":"{hash}","#), "");
    let both = one.replace(r#""sha256""#, r#""certificate":"n","sha256""#);
    for json in [neither, both] {
        let error = error(&json);
        assert!(
            error.contains("either a sha256 or a certificate"),
            "{error}"
        );
    }
    let entry = one
        .strip_prefix(r#"{"tokens":["#)
        .unwrap()
        .strip_suffix("]}")
        .unwrap();
    let twice = error(&format!(r#"{{"tokens":[{entry},{entry}]}}"#));
    assert!(twice.contains("it is there twice"), "{twice}");
}

#[test]
fn missing_file_is_an_error_for_a_server_and_a_beginning_for_a_new_token() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tokens.json");
    let error = Tokens::read(&path).unwrap_err().to_string();
    assert!(error.contains("cannot be read"), "{error}");
    assert!(TokenFile::read_or_new(&path).unwrap().entries().is_empty());
}

#[test]
fn byte_order_mark_is_no_part_of_a_file() {
    assert!(TokenFile::parse("f".as_ref(), "\u{feff}{\"tokens\":[]}").is_ok());
}

#[test]
fn certificates_have_rights_by_their_names() {
    let of = |name: &str| {
        let routes = vec!["mail*".to_owned()];
        TokenEntry::of_certificate(
            name.to_owned(),
            "n".to_owned(),
            vec![Right::Consume],
            routes,
        )
    };
    let (_directory, path) = written([of("a.internal").unwrap(), of("b.internal").unwrap()]);
    let tokens = Tokens::read(&path).unwrap();
    let names = ["c.internal", "b.internal"].map(String::from);
    let grant = tokens.grant_of_certificate(&names).unwrap();
    assert!(grant.allows(Right::Consume, "mail1") && !grant.allows(Right::Consume, "pay"));
    assert!(tokens.still_give(&grant));
    assert_eq!(tokens.grant_of_certificate(&names[..1]), None);
    for again in ["a.internal", "A.Internal"] {
        let mut file = TokenFile::read(&path).unwrap();
        let error = file.add(of(again).unwrap()).unwrap_err().to_string();
        assert!(
            error.contains("another token has the same certificate"),
            "{error}"
        );
    }
    assert!(of("").unwrap_err().contains("its certificate is"));
    // The id of a certificate is no secret, and gives nothing.
    let (_, secret) = entry("x", &[Right::Admin], &["*"]).unwrap();
    let forged = secret.reveal().replacen(secret.id(), &grant.id, 1);
    assert_eq!(tokens.grant(&Secret::parse(&forged).unwrap()), None);
}

#[test]
fn names_of_certificates_have_no_case_except_uris() {
    let of = |name: &str| {
        let (name, all) = (name.to_owned(), vec!["*".to_owned()]);
        TokenEntry::of_certificate(name, "n".to_owned(), vec![Right::Consume], all).unwrap()
    };
    let tokens = Tokens::of(&[of("Worker.Internal"), of("spiffe://prod/Billing")]);
    for (name, is_known) in [
        ("worker.internal", true),
        ("WORKER.internal", true),
        ("spiffe://prod/Billing", true),
        ("spiffe://prod/billing", false),
    ] {
        let grant = tokens.grant_of_certificate(&[name.to_owned()]);
        assert_eq!(grant.is_some(), is_known, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn pipe_in_place_of_the_file_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let error = Tokens::read(directory.path()).unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}

#[test]
fn stamp_tells_contents_and_errors_apart() {
    let (one, _) = entry("one", &[Right::Admin], &["*"]).unwrap();
    let (_directory, path) = written([one]);
    let stamp = || Tokens::load(Some(&path)).1;
    let before = stamp();
    assert_eq!(stamp(), before);
    let json = fs::read_to_string(&path).unwrap();
    fs::write(&path, json.replace("one", "two")).unwrap();
    let changed = stamp();
    assert_ne!(changed, before);
    fs::write(&path, "{").unwrap();
    let (read, broken) = Tokens::load(Some(&path));
    assert!(read.is_err() && broken != changed);
    fs::remove_file(&path).unwrap();
    assert!(Tokens::load(Some(&path)).0.is_err() && stamp() != broken);
    assert!(Tokens::load(None).1.is_none());
}
