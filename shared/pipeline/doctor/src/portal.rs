//! Checks the settings of Stripe's customer portal, where subscribers of the chat cancel and pay.

use crate::Finding;
use stripe::Portal;

pub(crate) const PORTAL: &str = "Stripe customer portal";

/// Findings about the portal. Plans must not be switched in it: an invoice's plan decides the access, and the invoice of a
/// switch bills parts of two plans.
pub(crate) fn settings(portal: Option<Portal>) -> Vec<Finding> {
    let found =
        |problem: &str, remedy: &str| Finding::new(PORTAL, problem, format!("Settings > Customer portal: {remedy}"));
    let Some(portal) = portal else {
        return vec![found("it has no settings: subscribers cannot open it", "save it as the deployment guide says")];
    };
    [
        (portal.switches_plans, "customers may switch plans", "let nobody switch plans or update a subscription"),
        (
            !portal.cancels_with_period,
            "customers cannot cancel at the end of the period",
            "allow it, at the end of the period",
        ),
        (!portal.updates_payment_method, "customers cannot update their payment method", "allow it"),
    ]
    .into_iter()
    .filter(|(is_wrong, ..)| *is_wrong)
    .map(|(_, problem, remedy)| found(problem, remedy))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: Portal = Portal { switches_plans: false, cancels_with_period: true, updates_payment_method: true };

    #[test]
    fn each_wrong_setting_is_a_finding() {
        assert_eq!(settings(Some(RIGHT)), []);
        for (portal, problem) in [
            (None, "no settings"),
            (Some(Portal { switches_plans: true, ..RIGHT }), "may switch plans"),
            (Some(Portal { cancels_with_period: false, ..RIGHT }), "cannot cancel"),
            (Some(Portal { updates_payment_method: false, ..RIGHT }), "cannot update"),
        ] {
            let found = settings(portal);
            assert!(found.len() == 1 && found[0].problem.contains(problem), "{portal:?}: {found:?}");
        }
    }
}
