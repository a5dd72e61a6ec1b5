//! The delay of hedged routes.

use std::collections::BTreeMap;

/// Returns the delay of the key that equals the route, or else of its longest prefix.
pub(super) fn delay(delays: &BTreeMap<String, u64>, route: &str) -> Option<u64> {
    // A key that ends with `*` is always a prefix, also of the route of the same name.
    let exact = delays.get(route).filter(|_| !route.ends_with('*'));
    let prefix = || {
        let matching = delays.iter().filter(|(key, _)| {
            let prefix = key.strip_suffix('*');
            prefix.is_some_and(|prefix| route.starts_with(prefix))
        });
        let longest = matching.max_by_key(|(key, _)| key.len());
        longest.map(|(_, delay)| delay)
    };
    exact.or_else(prefix).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(keys: &[(&str, u64)]) -> BTreeMap<String, u64> {
        keys.iter()
            .map(|(key, delay)| ((*key).to_owned(), *delay))
            .collect()
    }

    #[test]
    fn the_longest_match_takes_precedence() {
        let delays = delays(&[
            ("*", 1),
            ("pay-*", 2),
            ("pay-eu-*", 3),
            ("pay-eu-1", 4),
            ("mail", 5),
        ]);
        for (route, wanted) in [
            ("", 1),
            ("pay", 1),
            ("pay-", 2),
            ("pay-us", 2),
            ("pay-eu-", 3),
            ("pay-eu-12", 3),
            ("pay-eu-1", 4),
            ("mail", 5),
            ("mail2", 1),
        ] {
            assert_eq!(delay(&delays, route), Some(wanted), "{route}");
        }
    }

    #[test]
    fn a_route_without_a_match_is_not_hedged() {
        assert_eq!(delay(&delays(&[]), "a"), None);
        assert_eq!(delay(&delays(&[("a*", 1), ("b", 2)]), "c"), None);
    }

    #[test]
    fn a_key_that_ends_with_a_star_is_always_a_prefix() {
        let delays = delays(&[("a*", 1), ("a**", 2)]);
        assert_eq!(delay(&delays, "a*"), Some(2));
        assert_eq!(delay(&delays, "ab"), Some(1));
    }
}
