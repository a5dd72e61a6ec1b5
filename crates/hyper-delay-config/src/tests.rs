//! The example file and the table in the documentation have every field.

use std::fs;

use serde_json::{Value, json};

use super::Config;

fn text(file: &str) -> String {
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).expect(&path)
}

fn defaults() -> serde_json::Map<String, Value> {
    match serde_json::to_value(Config::default()) {
        Ok(Value::Object(fields)) => fields,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_example_has_every_field_with_its_default() {
    let example = text("../../config.example.json");
    Config::from_json("config.example.json", &example).unwrap();
    let mut example: Value = serde_json::from_str(&example).unwrap();
    // The only field whose example differs from its default.
    assert_eq!(example["hedge"], json!({ "payments-*": 250 }));
    example["hedge"] = json!({});
    assert_eq!(example, Value::Object(defaults()));
}

#[test]
fn the_table_has_every_field_with_its_default_in_the_same_order() {
    let table = text("../hyper-delay/CONFIGURATION.md");
    let rows: Vec<_> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let written: Vec<_> = rows
        .iter()
        .map(|row| row.split(" | ").take(2).collect::<Vec<_>>())
        .collect();
    let example = text("../../config.example.json");
    let position = |name: &str| {
        example
            .find(&format!("\"{name}\""))
            .expect("the example has it")
    };
    let mut fields: Vec<_> = defaults().into_iter().collect();
    fields.sort_by_key(|(name, _)| position(name));
    assert_eq!(rows.len(), fields.len());
    for (row, (name, default)) in written.iter().zip(fields) {
        assert_eq!(row[0], format!("| `{name}`"));
        assert_eq!(row[1].replace(", ", ","), format!("`{default}`"));
    }
}
