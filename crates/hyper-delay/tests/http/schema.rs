//! The part of JSON Schema that `openapi.json` uses.

use serde_json::Value;

/// Checks a value against a schema of a document.
///
/// # Errors
///
/// Where it differs.
pub(crate) fn check(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let found = document.pointer(reference.strip_prefix('#').unwrap());
        return check(document, found.ok_or_else(|| reference.to_owned())?, value);
    }
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return Err(format!("no type in {schema}")),
    };
    let fits = types.contains(&is) || is == "integer" && types.contains(&"number");
    if !fits {
        return Err(format!("{value} is not {types:?}"));
    }
    if let Some(values) = schema["enum"].as_array()
        && !values.contains(value)
    {
        return Err(format!("{value} is not in {values:?}"));
    }
    if let Some(constant) = schema.get("const")
        && constant != value
    {
        return Err(format!("{value} is not {constant}"));
    }
    for item in value.as_array().into_iter().flatten() {
        check(document, &schema["items"], item)?;
    }
    let Some(fields) = value.as_object() else {
        return Ok(());
    };
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        if !fields.contains_key(name) {
            return Err(format!("{name} is missing in {value}"));
        }
    }
    for (name, field) in fields {
        match schema["properties"].get(name) {
            Some(schema) => check(document, schema, field).map_err(|e| format!("{name}: {e}"))?,
            None => match &schema["additionalProperties"] {
                Value::Object(_) => check(document, &schema["additionalProperties"], field)?,
                _ => return Err(format!("{name} is not documented")),
            },
        }
    }
    Ok(())
}

#[test]
fn values_that_differ_are_found() {
    let document = serde_json::json!({"n": {"type": "integer"}});
    let schema = serde_json::json!({
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"$ref": "#/n"},
            "b": {"type": "array", "items": {"type": ["string", "null"], "enum": ["x", null]}},
        },
    });
    let differs = |text: &str| check(&document, &schema, &serde_json::from_str(text).unwrap());
    assert_eq!(differs(r#"{"a":1,"b":["x",null]}"#), Ok(()));
    for text in [
        "1",
        "{}",
        r#"{"a":"1"}"#,
        r#"{"a":1.5}"#,
        r#"{"a":1,"b":["y"]}"#,
        r#"{"a":1,"c":1}"#,
    ] {
        assert!(differs(text).is_err(), "{text}");
    }
}
