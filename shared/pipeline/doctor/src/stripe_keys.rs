//! Compares the modes of a stack's Stripe keys, live and test.

use crate::Finding;

pub(crate) const KEYS: &str = "Stripe keys";

/// A finding if some of these secrets have a key of the live mode and others one of the test mode. `None` stands for a
/// key whose form does not show its mode.
pub(crate) fn modes(keys: &[(&str, Option<bool>)]) -> Vec<Finding> {
    let of_mode = |live: bool| {
        let names = keys.iter().filter(|(_, mode)| *mode == Some(live)).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join(" and ")
    };
    let (live, test) = (of_mode(true), of_mode(false));
    if live.is_empty() || test.is_empty() {
        return Vec::new();
    }
    let problem = format!("live: {live}; test: {test}; a key cannot see what is sold in the other mode");
    vec![Finding::new(KEYS, problem, "store keys of one mode: `oracle secrets set NAME`")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_two_modes_are_a_finding_that_names_each() {
        let found = |modes: [Option<bool>; 3]| {
            let [reading, selling, refunding] = modes;
            self::modes(&[("stripe", reading), ("stripe-checkout", selling), ("stripe-refund", refunding)])
        };
        let (live, test) = (Some(true), Some(false));
        for alike in [[live; 3], [test; 3], [None; 3], [live, None, live], [None, None, test]] {
            assert_eq!(found(alike), [], "{alike:?}");
        }
        for (mixed, problem) in [
            ([test, live, test], "live: stripe-checkout; test: stripe and stripe-refund;"),
            ([live, live, test], "live: stripe and stripe-checkout; test: stripe-refund;"),
            ([test, None, live], "live: stripe-refund; test: stripe;"),
        ] {
            let found = found(mixed);
            assert!(matches!(&found[..], [one] if one.problem.starts_with(problem)), "{mixed:?}: {found:?}");
        }
    }
}
