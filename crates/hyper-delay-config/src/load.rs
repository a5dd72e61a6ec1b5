//! Finds the configuration file, and the values that take precedence over it.

use std::{
    env,
    ffi::OsString,
    fmt, fs,
    io::ErrorKind,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use super::{Config, ConfigError, parse::parse_address};

/// The environment variable that names the file.
const VARIABLE: &str = "HYPER_DELAY_CONFIG";

/// The environment variables of two fields.
const BIND_ADDR: &str = "HYPER_DELAY_BIND_ADDR";
const DATA_DIR: &str = "HYPER_DELAY_DATA_DIR";

/// The file in the working directory that is read if it exists.
const FILE: &str = "config.json";

/// A configuration and its source. [`Display`](fmt::Display) names the source, and each field that
/// a flag or the environment sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// The source of the other fields.
    pub source: Source,
    /// The fields that do not come from the source, each with the flag or the environment variable
    /// that sets it.
    pub overridden: Vec<(&'static str, &'static str)>,
}

/// The source of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The file that `--config` or `HYPER_DELAY_CONFIG` names.
    Named(PathBuf),
    /// `config.json` in the working directory.
    Found(PathBuf),
    /// No file exists, and every field has its default.
    Defaults,
}

/// Values from a command line. They take precedence over the environment, and the environment over
/// the file. Default: none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// The file, instead of the one that `HYPER_DELAY_CONFIG` names: `--config`.
    pub file: Option<PathBuf>,
    /// `bind_addr`, instead of `HYPER_DELAY_BIND_ADDR` and the file: `--bind`.
    pub bind_addr: Option<SocketAddr>,
    /// `data_dir`, instead of `HYPER_DELAY_DATA_DIR` and the file: `--data-dir`.
    pub data_dir: Option<PathBuf>,
}

impl Overrides {
    /// Like [`Config::load`], with these values.
    ///
    /// # Errors
    ///
    /// As [`Config::load`].
    pub fn load(&self) -> Result<Loaded, ConfigError> {
        self.load_with(|name| env::var_os(name), Path::new("."))
    }

    fn load_with(
        &self,
        variable: impl Fn(&str) -> Option<OsString>,
        directory: &Path,
    ) -> Result<Loaded, ConfigError> {
        let named = match &self.file {
            Some(file) => Some(file.into()),
            None => variable(VARIABLE),
        };
        let mut loaded = load(named, directory)?;
        let address = match self.bind_addr {
            Some(address) => Some((address, "--bind")),
            None => match variable(BIND_ADDR) {
                Some(value) => Some((bind_addr(&value)?, BIND_ADDR)),
                None => None,
            },
        };
        if let Some((address, by)) = address {
            loaded.config.bind_addr = address;
            loaded.overridden.push(("bind_addr", by));
        }
        let folder = match &self.data_dir {
            Some(folder) => Some((folder.clone(), "--data-dir")),
            None => match variable(DATA_DIR) {
                Some(value) if value.is_empty() => {
                    return Err(bad_variable(DATA_DIR, &value, FOLDER));
                }
                Some(value) => Some((value.into(), DATA_DIR)),
                None => None,
            },
        };
        if let Some((folder, by)) = folder {
            loaded.config.data_dir = folder;
            loaded.overridden.push(("data_dir", by));
        }
        loaded.check_data_dir(directory)?;
        loaded.config.check_exposure(&loaded.to_string())?;
        Ok(loaded)
    }
}

impl Loaded {
    /// Refuses a `data_dir` that is a file, or is below one, as seen from this working directory.
    fn check_data_dir(&self, directory: &Path) -> Result<(), ConfigError> {
        let data_dir = &self.config.data_dir;
        let whole = directory.join(data_dir);
        let file = whole.ancestors().find(|path| path.exists());
        let Some(file) = file.filter(|path| !path.is_dir()) else {
            return Ok(());
        };
        let file = file.strip_prefix(directory).unwrap_or(file);
        Err(ConfigError::BadField {
            file: self.to_string(),
            field: "data_dir".to_owned(),
            value: format!("{data_dir:?}"),
            cure: format!("{file:?} is a file: give the path of a folder, or of none yet"),
        })
    }
}

/// The cure for a bad `HYPER_DELAY_DATA_DIR`.
const FOLDER: &str = "give the path of a folder, or unset it";

fn bind_addr(value: &OsString) -> Result<SocketAddr, ConfigError> {
    parse_address(value.to_str().unwrap_or_default())
        .map_err(|cure| bad_variable(BIND_ADDR, value, &format!("{cure}, or unset it")))
}

fn bad_variable(variable: &'static str, value: &OsString, cure: &str) -> ConfigError {
    ConfigError::BadVariable {
        variable,
        value: value.to_string_lossy().into_owned(),
        cure: cure.to_owned(),
    }
}

impl Config {
    /// Reads the file that the environment variable `HYPER_DELAY_CONFIG` names, which must exist.
    /// Without the variable it reads `config.json` in the working directory, or returns the
    /// defaults if that does not exist. `HYPER_DELAY_BIND_ADDR` and `HYPER_DELAY_DATA_DIR` take
    /// precedence over the fields `bind_addr` and `data_dir`.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the file, the field or the variable, the value and the cure.
    pub fn load() -> Result<Loaded, ConfigError> {
        Overrides::default().load()
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
            // Some editors begin a file with a byte order mark.
            config: Config::parse_unexposed(
                &source.to_string(),
                json.strip_prefix('\u{feff}').unwrap_or(&json),
            )?,
            source,
            overridden: Vec::new(),
        }),
        Err(error)
            if error.kind() == ErrorKind::NotFound && source == Source::Found(file.clone()) =>
        {
            Ok(Loaded {
                config: Config::default(),
                source: Source::Defaults,
                overridden: Vec::new(),
            })
        }
        Err(source) => Err(ConfigError::Unreadable { file, source }),
    }
}

impl fmt::Display for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        for (field, by) in &self.overridden {
            write!(f, ", {field} by {by}")?;
        }
        Ok(())
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

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_configuration() {
        let directory = directory(Some("\u{feff}{\"credit\": 5}"));
        let loaded = load(None, directory.path()).unwrap();
        assert_eq!(loaded.config.credit, 5);
    }

    #[test]
    fn a_file_that_cannot_be_read_has_a_cure() {
        let directory = directory(None);
        let path = directory.path();
        fs::write(path.join("utf16.json"), b"\xff\xfe{\0}\0").unwrap();
        fs::create_dir(path.join("folder")).unwrap();
        for (name, cure) in [
            ("none.json", "make it, or name another one"),
            ("utf16.json", "save it as UTF-8"),
            ("folder", "it is a folder: name the file in it"),
        ] {
            let error = load(Some(path.join(name).into()), path).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(name) && text.ends_with(cure), "{text}");
        }
    }

    #[test]
    fn the_data_directory_is_no_file_and_not_below_one() {
        let directory = directory(Some("{}"));
        let path = directory.path();
        let load = |folder: &str| {
            let flags = Overrides {
                data_dir: Some(folder.into()),
                ..Overrides::default()
            };
            flags.load_with(|_| None, path)
        };
        for folder in [FILE, "config.json/new/data"] {
            let text = load(folder).unwrap_err().to_string();
            let named = format!(
                "data_dir by --data-dir: data_dir is {folder:?}: \"config.json\" is a file: give "
            );
            assert!(text.contains(&named), "{text}");
        }
        for folder in ["new", "new/data", "."] {
            load(folder).unwrap();
        }
    }

    fn variables(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + use<> {
        let set: Vec<(String, String)> = set
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        move |name| {
            let found = set.iter().find(|(set, _)| set == name);
            found.map(|(_, value)| value.into())
        }
    }

    #[test]
    fn a_flag_takes_precedence_over_the_environment_and_that_over_the_file() {
        let directory = directory(Some(
            r#"{"bind_addr": "127.0.0.1:1", "data_dir": "file", "credit": 5}"#,
        ));
        let flags = Overrides {
            bind_addr: Some(([127, 0, 0, 1], 3).into()),
            data_dir: Some("flag".into()),
            ..Overrides::default()
        };
        let set = [(BIND_ADDR, "127.0.0.1:2"), (DATA_DIR, "environment")];
        for (flags, set, port, folder, shown) in [
            (&Overrides::default(), &set[..0], 1, "file", ""),
            (
                &Overrides::default(),
                &set,
                2,
                "environment",
                ", bind_addr by HYPER_DELAY_BIND_ADDR, data_dir by HYPER_DELAY_DATA_DIR",
            ),
            (
                &flags,
                &set,
                3,
                "flag",
                ", bind_addr by --bind, data_dir by --data-dir",
            ),
        ] {
            let loaded = flags.load_with(variables(set), directory.path()).unwrap();
            assert_eq!(loaded.config.bind_addr.port(), port);
            assert_eq!(loaded.config.data_dir, Path::new(folder));
            assert_eq!(loaded.config.credit, 5);
            assert_eq!(loaded.to_string(), format!("{}{shown}", loaded.source));
        }
    }

    #[test]
    fn the_file_of_a_flag_is_read_instead_of_the_one_in_the_environment() {
        let directory = directory(Some("not JSON"));
        let file = directory.path().join("flag.json");
        fs::write(&file, r#"{"credit": 9}"#).unwrap();
        let flags = Overrides {
            file: Some(file.clone()),
            ..Overrides::default()
        };
        let set = variables(&[(VARIABLE, "missing.json")]);
        let loaded = flags.load_with(set, directory.path()).unwrap();
        assert_eq!(loaded.config.credit, 9);
        assert_eq!(loaded.source, Source::Named(file));
    }

    #[test]
    fn only_the_address_in_force_must_be_protected() {
        let here = directory(Some(r#"{"bind_addr": "127.0.0.1:1"}"#));
        let set = variables(&[(BIND_ADDR, "0.0.0.0:1")]);
        let error = Overrides::default().load_with(set, here.path());
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("bind_addr by HYPER_DELAY_BIND_ADDR: bind_addr is \"0.0.0.0:1\": other"),
            "{error}"
        );
        let everywhere = directory(Some(r#"{"bind_addr": "0.0.0.0:1"}"#));
        let set = variables(&[(BIND_ADDR, "127.0.0.1:1")]);
        assert!(
            Overrides::default()
                .load_with(set, everywhere.path())
                .is_ok()
        );
    }

    #[test]
    fn a_bad_variable_is_an_error_that_names_value_and_cure() {
        let directory = directory(None);
        for (name, value, cure) in [
            (BIND_ADDR, "localhost:7000", "give an address and a port"),
            (BIND_ADDR, "", "give an address and a port"),
            (DATA_DIR, "", "give the path of a folder, or unset it"),
        ] {
            let set = variables(&[(name, value)]);
            let error = Overrides::default().load_with(set, directory.path());
            let error = error.unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{name} is {value:?}: {cure}")),
                "{error}"
            );
            assert!(error.ends_with(", or unset it"), "{error}");
        }
    }
}
