//! Finds the configuration file.

use std::{
    env,
    ffi::OsString,
    fmt, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{Config, ConfigError};

/// The environment variable that names the file.
const VARIABLE: &str = "HYPER_DELAY_CONFIG";

/// The file in the working directory that is read if it exists.
const FILE: &str = "config.json";

/// A configuration and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Its source.
    pub source: Source,
}

/// The source of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The file that `HYPER_DELAY_CONFIG` names.
    Named(PathBuf),
    /// `config.json` in the working directory.
    Found(PathBuf),
    /// No file exists, and every field has its default.
    Defaults,
}

impl Config {
    /// Reads the file that the environment variable `HYPER_DELAY_CONFIG` names, which must exist.
    /// Without the variable it reads `config.json` in the working directory, or returns the
    /// defaults if that does not exist.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the file, the field, the value and the cure.
    pub fn load() -> Result<Loaded, ConfigError> {
        load(env::var_os(VARIABLE), Path::new("."))
    }
}

fn load(named: Option<OsString>, directory: &Path) -> Result<Loaded, ConfigError> {
    let (file, source): (PathBuf, fn(PathBuf) -> Source) = match named {
        Some(name) if name.is_empty() => return Err(ConfigError::NoName),
        Some(name) => (name.into(), Source::Named),
        None => (directory.join(FILE), Source::Found),
    };
    let source = source(file.clone());
    match fs::read_to_string(&file) {
        Ok(json) => Ok(Loaded {
            config: Config::from_json(&source.to_string(), &json)?,
            source,
        }),
        Err(error)
            if error.kind() == ErrorKind::NotFound && source == Source::Found(file.clone()) =>
        {
            Ok(Loaded {
                config: Config::default(),
                source: Source::Defaults,
            })
        }
        Err(source) => Err(ConfigError::Unreadable { file, source }),
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(file) | Self::Found(file) => file.display().fmt(f),
            Self::Defaults => f.write_str("the defaults"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(config: Option<&str>) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        if let Some(config) = config {
            fs::write(directory.path().join(FILE), config).unwrap();
        }
        directory
    }

    #[test]
    fn without_a_file_every_field_has_its_default() {
        let directory = directory(None);
        let loaded = load(None, directory.path()).unwrap();
        assert_eq!(loaded.config, Config::default());
        assert_eq!(loaded.source, Source::Defaults);
    }

    #[test]
    fn the_file_in_the_directory_is_read_if_it_exists() {
        let directory = directory(Some(r#"{"credit": 5}"#));
        let loaded = load(None, directory.path()).unwrap();
        assert_eq!(loaded.config.credit, 5);
        assert_eq!(loaded.source, Source::Found(directory.path().join(FILE)));
    }

    #[test]
    fn a_named_file_is_read_instead() {
        let directory = directory(Some("not JSON"));
        let file = directory.path().join("other.json");
        fs::write(&file, r#"{"credit": 7}"#).unwrap();
        let loaded = load(Some(file.clone().into()), directory.path()).unwrap();
        assert_eq!(loaded.config.credit, 7);
        assert_eq!(loaded.source, Source::Named(file));
    }

    #[test]
    fn a_named_file_must_exist() {
        let directory = directory(Some("{}"));
        let file = directory.path().join("other.json");
        let error = load(Some(file.clone().into()), directory.path()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("{}: cannot be read: ", file.display())),
            "{text}"
        );
        let error = load(Some(OsString::new()), directory.path()).unwrap_err();
        assert!(matches!(error, ConfigError::NoName));
    }

    #[test]
    fn a_file_that_exists_and_cannot_be_read_is_an_error() {
        let directory = directory(None);
        fs::create_dir(directory.path().join(FILE)).unwrap();
        let error = load(None, directory.path()).unwrap_err();
        assert!(matches!(error, ConfigError::Unreadable { .. }));
    }

    #[test]
    fn an_error_names_the_file() {
        let directory = directory(Some(r#"{"credit": 0}"#));
        let error = load(None, directory.path()).unwrap_err().to_string();
        let file = directory.path().join(FILE);
        let wanted = format!(
            "{}: credit is 0: give a number from 1 to 65535",
            file.display()
        );
        assert_eq!(error, wanted);
    }
}
