//! The delay of hedged routes.

use std::collections::BTreeMap;

use super::route_patterns::matching;

/// Returns the delay of the key that equals the route, or else of its longest prefix.
pub(super) fn delay(delays: &BTreeMap<String, u64>, route: &str) -> Option<u64> {
    matching(delays, route).next().map(|(_, delay)| *delay)
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
