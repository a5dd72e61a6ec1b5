//! The table of operations and the codes against `openapi.json`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    operation::{Method, Operation},
    *,
};
use crate::http::problem::code;
use hyper_delay_protocol::{Code, RequestKind};

fn document() -> Value {
    serde_json::from_str(OPENAPI).unwrap()
}

fn method(operation: &Operation) -> &'static str {
    match operation.method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Delete => "delete",
    }
}

fn parameters(operation: &Value, place: &str) -> BTreeSet<String> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    let of = all.filter(|parameter| parameter["in"] == place);
    of.map(|parameter| parameter["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_file_has_every_operation_with_its_parameters() {
    let document = document();
    for operation in OPERATIONS {
        let written = &document["paths"][operation.path][method(operation)];
        assert_eq!(written["x-request"], operation.kind, "{operation:?}");
        let query = operation.parameters().into_iter();
        let query: BTreeSet<String> = query.map(|parameter| parameter.name.to_owned()).collect();
        assert_eq!(parameters(written, "query"), query, "{operation:?}");
        let names = operation.path.split('/');
        let names = names.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        assert_eq!(parameters(written, "path"), names, "{operation:?}");
        assert_eq!(written["requestBody"].is_object(), operation.has_body());
    }
    let written = document["paths"].as_object().unwrap().values();
    let requests = written
        .flat_map(|item| item.as_object().unwrap().values())
        .filter(|operation| operation["x-request"].is_string());
    assert_eq!(requests.count(), OPERATIONS.len(), "no others");
}

#[test]
fn a_request_has_every_field_of_its_kind_in_its_path_query_or_body() {
    let document = document();
    for operation in OPERATIONS {
        let kind = RequestKind::named(operation.kind).unwrap();
        let wanted: BTreeSet<&str> = kind.fields().filter(|field| *field != "token").collect();
        let body = operation.body_fields();
        let places = operation
            .path_parameters()
            .chain(operation.query.iter().copied());
        let given: Vec<&str> = places.map(|part| part.field).chain(body.clone()).collect();
        assert_eq!(given.iter().copied().collect::<BTreeSet<_>>(), wanted);
        assert_eq!(given.len(), wanted.len(), "{operation:?}: each once");

        let written = &document["paths"][operation.path][method(operation)]["requestBody"];
        let schema = &written["content"]["application/json"]["schema"];
        let schema = match schema["$ref"].as_str() {
            Some(name) => document.pointer(name.trim_start_matches('#')).unwrap(),
            None => schema,
        };
        let properties = schema["properties"].as_object().into_iter().flatten();
        let properties: BTreeSet<&str> = properties.map(|(name, _)| name.as_str()).collect();
        assert_eq!(properties, body.into_iter().collect(), "{operation:?}");
    }
}

#[test]
fn the_file_has_every_code_with_its_status() {
    let document = document();
    let statuses = &document["components"]["responses"]["Problem"]["x-statuses"];
    let of_protocol = Code::ALL.map(|code| (code.as_str(), Problem::of(code, "").status()));
    let of_http = code::ALL.map(|code| (code, Problem::new(code, "").status()));
    let all: Vec<_> = of_protocol.into_iter().chain(of_http).collect();
    for (code, status) in &all {
        assert_eq!(statuses[code], status.as_u16(), "{code}");
    }
    assert_eq!(statuses.as_object().unwrap().len(), all.len());
    let codes = &document["components"]["schemas"]["Error"]["properties"]["error"]["properties"];
    let codes = codes["code"]["enum"].as_array().unwrap();
    let names: BTreeSet<&str> = codes.iter().filter_map(Value::as_str).collect();
    assert_eq!(names, all.iter().map(|(code, _)| *code).collect());
}
