//! The parameters of a query.

use std::borrow::Cow;

use percent_encoding::percent_decode;

use crate::http::problem::Problem;

/// A parameter that an operation takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    /// Its name in the query.
    pub(super) name: &'static str,
    /// The field of the protocol that it becomes.
    pub(super) field: &'static str,
    pub(super) kind: ParameterKind,
}

/// The JSON that a parameter becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterKind {
    Text,
    Number,
    Flag,
}

/// Returns the parameters of a query with their decoded values.
///
/// # Errors
///
/// If a parameter is unknown, is there twice, or is not UTF-8.
pub(super) fn read<'q>(
    query: Option<&'q str>,
    known: &[Parameter],
) -> Result<Vec<(Parameter, Cow<'q, str>)>, Problem> {
    let mut read: Vec<(Parameter, Cow<'q, str>)> = Vec::new();
    let pairs = query.unwrap_or_default().split('&');
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name)?, decoded(value)?);
        if matches!(&*name, "token" | "access_token") {
            return Err(Problem::bad_field(
                "the query has a token, and addresses end up in logs: make a new token, and send \
                 it in the header Authorization: Bearer",
            ));
        }
        let Some(parameter) = known.iter().find(|parameter| parameter.name == name) else {
            let names: Vec<_> = known.iter().map(|parameter| parameter.name).collect();
            let cure = match names.is_empty() {
                true => "this path takes none".to_owned(),
                false => format!("give {}", names.join(", ")),
            };
            let text = format!("the query has {name:?}: {cure}");
            return Err(Problem::bad_field(text));
        };
        if read.iter().any(|(other, _)| other.name == parameter.name) {
            let text = format!("the query has {name:?} twice: give it once");
            return Err(Problem::bad_field(text));
        }
        read.push((*parameter, value));
    }
    Ok(read)
}

fn decoded(text: &str) -> Result<Cow<'_, str>, Problem> {
    let bad = || Problem::bad_field(format!("the query has {text:?}, which is not UTF-8"));
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        let decoded = percent_decode(spaced.as_bytes()).decode_utf8();
        return decoded
            .map(|text| text.into_owned().into())
            .map_err(|_| bad());
    }
    percent_decode(text.as_bytes())
        .decode_utf8()
        .map_err(|_| bad())
}

impl ParameterKind {
    /// Returns a value as JSON. One that is not of its kind becomes a text, which the protocol
    /// refuses with the cure.
    pub(super) fn json(self, value: &str) -> String {
        let is_number = !value.is_empty()
            && value.len() <= 20
            && value.bytes().all(|byte| byte.is_ascii_digit())
            && (value == "0" || !value.starts_with('0'));
        let is_bare = match self {
            Self::Text => false,
            Self::Number => is_number,
            Self::Flag => matches!(value, "true" | "false"),
        };
        match is_bare {
            true => value.to_owned(),
            false => serde_json::Value::from(value).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Parameter; 2] = [
        Parameter {
            name: "route",
            field: "route_key",
            kind: ParameterKind::Text,
        },
        Parameter {
            name: "limit",
            field: "limit",
            kind: ParameterKind::Number,
        },
    ];

    fn values(query: &str) -> Result<Vec<String>, String> {
        let read = read(Some(query), &KNOWN).map_err(|problem| format!("{problem:?}"))?;
        let pairs = read.iter();
        let pairs = pairs.map(|(of, value)| format!("{}={}", of.field, of.kind.json(value)));
        Ok(pairs.collect())
    }

    #[test]
    fn values_are_decoded_and_become_json() {
        let read = values("route=a%2Fb+c%25&limit=7").unwrap();
        assert_eq!(read, [r#"route_key="a/b c%""#, "limit=7"]);
        assert_eq!(values("&&").unwrap(), [""; 0]);
        assert_eq!(values("limit=07").unwrap(), [r#"limit="07""#]);
        assert_eq!(values("limit=-1").unwrap(), [r#"limit="-1""#]);
        assert_eq!(values("route=%22%5C").unwrap(), [r#"route_key="\"\\""#]);
        assert_eq!(values("limit").unwrap(), [r#"limit="""#]);
    }

    #[test]
    fn unknown_and_repeated_parameters_are_named() {
        for (query, part) in [
            ("x=1", r#"has \"x\": give route, limit"#),
            ("limit=1&limit=2", r#"has \"limit\" twice"#),
            ("route=%FF", "not UTF-8"),
            ("%FF=1", "not UTF-8"),
            ("token=secret", "Authorization: Bearer"),
        ] {
            let error = values(query).unwrap_err();
            assert!(error.contains(part), "{query}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
