//! Fields with a value for each route: by its name, or by a prefix that ends with `*`.

use std::collections::BTreeMap;

use serde_json::Value;

use hyper_delay_protocol::access::check_key;

/// Reads such a field. `wanted` is the error for other JSON values; the errors of `parse_value` are
/// cures.
pub(super) fn read<T>(
    value: &Value,
    wanted: &str,
    parse_value: impl Fn(&Value) -> Result<T, String>,
) -> Result<BTreeMap<String, T>, String> {
    let entry = |(key, value): (&String, &Value)| {
        check_key(key)?;
        let read =
            parse_value(value).map_err(|cure| format!("{value} for {key:?} in it: {cure}"))?;
        Ok((key.clone(), read))
    };
    value.as_object().ok_or(wanted)?.iter().map(entry).collect()
}

/// Returns the keys that match a route, with their values: the key that equals it, then its
/// prefixes, the longest first.
pub(super) fn matching<'a, T>(
    keys: &'a BTreeMap<String, T>,
    route: &str,
) -> impl Iterator<Item = (&'a str, &'a T)> {
    // A key that ends with `*` is always a prefix, also of the route of the same name.
    let exact = keys.get_key_value(route).filter(|_| !route.ends_with('*'));
    let mut prefixes: Vec<_> = keys
        .iter()
        .filter(|(key, _)| {
            let prefix = key.strip_suffix('*');
            prefix.is_some_and(|prefix| route.starts_with(prefix))
        })
        .collect();
    prefixes.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
    let found = exact.into_iter().chain(prefixes);
    found.map(|(key, value)| (key.as_str(), value))
}
