use std::fmt;

use serde::{Deserialize, Serialize};

/// The routes that a token is for: exact names, and prefixes that end with `*`.
///
/// A key that ends with `*` is always a prefix, as in the field `hedge` of the configuration; `*`
/// alone is every route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Routes(Vec<String>);

impl Routes {
    /// Makes the routes of a list of names and prefixes.
    ///
    /// # Errors
    ///
    /// The cure, if the list is empty, or one of them is empty or longer than a route can be.
    pub fn new(keys: Vec<String>) -> Result<Self, String> {
        if keys.is_empty() {
            return Err("give at least one route or prefix, such as \"mail*\"".to_owned());
        }
        keys.iter().try_for_each(|key| check_key(key))?;
        Ok(Self(keys))
    }

    /// Returns whether these are all routes.
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.0.iter().any(|key| key == "*")
    }

    /// Returns whether the routes with this prefix are among these.
    #[must_use]
    pub fn contain_prefix(&self, prefix: &str) -> bool {
        let mut prefixes = self.0.iter().filter_map(|key| key.strip_suffix('*'));
        prefixes.any(|key| prefix.starts_with(key))
    }

    /// Returns whether a route is one of these.
    #[must_use]
    pub fn contain(&self, route: &str) -> bool {
        self.0.iter().any(|key| match key.strip_suffix('*') {
            Some(prefix) => route.starts_with(prefix),
            None => key == route,
        })
    }
}

/// Checks a route, or a prefix that ends with `*`.
///
/// # Errors
///
/// If it is neither. The text names the key and the cure.
pub fn check_key(key: &str) -> Result<(), String> {
    if !(1..=129).contains(&key.len()) || (key.len() > 128 && !key.ends_with('*')) {
        return Err(format!(
            "{key:?} in it: give a route of 1 to 128 bytes, or the beginning of one and *"
        ));
    }
    if key.strip_suffix('*').unwrap_or(key).contains('*') {
        return Err(format!(
            "{key:?} in it has a * that is not its end: give a route, or the beginning of one and *"
        ));
    }
    Ok(())
}

impl fmt::Display for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(keys: &[&str]) -> Result<Routes, String> {
        Routes::new(keys.iter().map(|key| (*key).to_owned()).collect())
    }

    #[test]
    fn names_are_exact_and_prefixes_end_with_a_star() {
        let routes = routes(&["mail", "pay-*"]).unwrap();
        for (route, is_one) in [
            ("mail", true),
            ("mail2", false),
            ("mai", false),
            ("pay-", true),
            ("pay-eu", true),
            ("pay", false),
            ("", false),
        ] {
            assert_eq!(routes.contain(route), is_one, "{route}");
        }
        assert_eq!(routes.to_string(), "mail, pay-*");
    }

    #[test]
    fn a_star_is_every_route_and_a_name_with_a_star_is_a_prefix() {
        assert!(routes(&["*"]).unwrap().contain("anything"));
        assert!(routes(&["a*"]).unwrap().contain("a*"));
        assert!(routes(&["a*"]).unwrap().contain("ab"));
    }

    #[test]
    fn prefixes_are_among_shorter_ones() {
        let some = routes(&["mail", "co*"]).unwrap();
        assert!(some.contain_prefix("conn-") && some.contain_prefix("co"));
        assert!(!some.contain_prefix("c") && !some.contain_prefix("mail"));
        assert!(!some.are_all() && !some.contain_prefix(""));
        let all = routes(&["mail", "*"]).unwrap();
        assert!(all.are_all() && all.contain_prefix("conn-"));
    }

    #[test]
    fn lists_without_a_usable_route_are_errors() {
        assert!(routes(&[]).unwrap_err().contains("at least one"));
        assert!(routes(&["ok", ""]).unwrap_err().starts_with("\"\" in it"));
        let long = "r".repeat(129);
        assert!(routes(&[&long]).is_err());
        let prefix = "r".repeat(128) + "*";
        assert!(routes(&[&prefix]).is_ok());
    }
}
