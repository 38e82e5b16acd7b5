//! Describes the domains for operators and for developers who connect an oracle.

use serde::Serialize;

use crate::engine::data::{AXES, DOMAINS};

/// One domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ontology {
    /// Its name.
    pub domain: &'static str,
    /// The file of `data/` that defines it.
    pub file: &'static str,
    /// Its state axes.
    pub axes: Vec<Axis>,
    /// Its registered sources of ground truth. This product connects none.
    pub oracles: Vec<Oracle>,
    /// The policy if an oracle does not answer: `FAIL_CLOSED_BLOCK`, `ASSUME_HIGHEST_RISK`.
    pub on_timeout: &'static str,
    /// The approving roles and the registers of their credentials; `never` if no human may approve.
    pub human_lock: &'static str,
    /// Whether two people must approve.
    pub two_persons: bool,
}

/// One dimension of state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Its key.
    pub key: &'static str,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The unit of a quantity; values of other dimensions are rejected.
    pub unit: &'static str,
    /// The values of an enum.
    pub values: &'static [&'static str],
    /// The question that asks the customer for it.
    pub prompt: &'static str,
    /// Whether only an oracle may set it.
    pub oracle_only: bool,
}

/// A registered source of ground truth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Oracle {
    /// Its name.
    pub name: &'static str,
    /// Trust tier: primary, secondary, cross_domain or unverified.
    pub tier: &'static str,
    /// The maximum age of an answer in seconds; 0 means real time only.
    pub recency_seconds: u64,
}

/// All domains, in the order of their files.
#[must_use]
pub fn ontologies() -> Vec<Ontology> {
    let axes = |domain: usize| {
        AXES.iter().filter(move |axis| usize::from(axis.domain) == domain).map(|axis| Axis {
            key: axis.key,
            kind: axis.kind,
            unit: axis.unit,
            values: axis.values,
            prompt: axis.prompt,
            oracle_only: axis.oracle_only,
        })
    };
    let oracle = |oracle: &crate::tables::Oracle| Oracle {
        name: oracle.name,
        tier: oracle.tier,
        recency_seconds: oracle.recency_seconds,
    };
    let ontology = |(index, domain): (usize, &crate::tables::Domain)| Ontology {
        domain: domain.name,
        file: domain.file,
        axes: axes(index).collect(),
        oracles: domain.oracles.iter().map(oracle).collect(),
        on_timeout: domain.on_timeout,
        human_lock: domain.human_lock,
        two_persons: domain.two_persons,
    };
    DOMAINS.iter().enumerate().map(ontology).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::data::RESOURCES;
    use filter::{Filter, Outcome};

    /// The customers' texts in the data pass the content filter. A notice contains one of its domain's required
    /// phrases, so that a reply with its notice follows the grammar.
    #[test]
    fn texts_for_customers_pass_the_filter_and_their_own_grammar() {
        for domain in DOMAINS {
            let texts = domain
                .actions
                .iter()
                .chain(domain.required)
                .chain(domain.forbidden)
                .chain([&domain.notice, &domain.reformulation]);
            for text in texts {
                assert_eq!(Filter::embedded().check(text).outcome, Outcome::Pass, "{text}");
            }
            let notice = domain.notice.to_lowercase();
            let said = domain.required.iter().any(|phrase| notice.contains(phrase));
            assert!(domain.required.is_empty() || said, "{}: {notice}", domain.name);
            assert!(!domain.forbidden.iter().any(|phrase| notice.contains(phrase)), "{}", domain.name);
        }
        for resource in RESOURCES {
            let line = format!("{}: {}", resource.named, resource.contact);
            assert_eq!(Filter::embedded().check(&line).outcome, Outcome::Pass, "{line}");
        }
        for axis in AXES {
            assert_eq!(Filter::embedded().check(axis.prompt).outcome, Outcome::Pass, "{}", axis.prompt);
        }
    }
}
