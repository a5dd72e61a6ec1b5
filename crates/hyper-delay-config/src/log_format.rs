use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// The form of the log's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people, in colours on a terminal. The default.
    #[default]
    Text,
    /// One JSON object for each line, without colours.
    Json,
}

impl LogFormat {
    /// Reads the value of the field. The error is the cure.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        match value.as_str() {
            Some("text") => Ok(Self::Text),
            Some("json") => Ok(Self::Json),
            _ => Err("give \"text\" or \"json\"".to_owned()),
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_formats_are_read_and_written() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let value = serde_json::to_value(format).unwrap();
            assert_eq!(value, format.to_string());
            assert_eq!(LogFormat::read(&value), Ok(format));
        }
    }

    #[test]
    fn other_values_are_refused_with_the_cure() {
        for value in [json!("JSON"), json!(""), json!(1), json!(["json"])] {
            let cure = "give \"text\" or \"json\"".to_owned();
            assert_eq!(LogFormat::read(&value), Err(cure), "{value}");
        }
    }
}
