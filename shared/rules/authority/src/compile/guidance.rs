//! The texts for single reasons, such as those that the specification's worked examples print.

use std::fmt::Write as _;

use super::ontology::{Files, Guidance};
use super::{DataError, Source};

/// Validates the guidance of all domains and writes its table.
pub(crate) fn generate(files: &Files) -> Result<String, DataError> {
    let mut lines = String::new();
    for (domain, source, guidance) in files.guidance() {
        check(files, domain, source, guidance)?;
        let display: String =
            guidance.display.iter().map(|(country, text)| format!("({country:?}, {text:?}), ")).collect();
        let (axis, value) = guidance.with.split_once('=').unwrap_or_default();
        let _ = writeln!(
            lines,
            "    Guidance {{ domain: {domain}, reason: {:?}, with: ({axis:?}, {value:?}), quotes: &{:?}, missing: &{:?}, advice: {:?}, content: {:?}, user_prompt: {:?}, display: &[{display}], forbidden: &{:?}, required: &{:?}, immediate_actions: &{:?}, follow_up_actions: &{:?}, suggested_actions: &{:?}, reformulation: {:?}, escalation_contacts: &{:?}, escalation_targets: &{:?}, triggered_by: {:?}, block_reason: {:?}, rationale: {:?} }},",
            guidance.reason.get_ref(),
            guidance.quotes,
            guidance.missing,
            guidance.advice,
            guidance.content,
            guidance.user_prompt,
            guidance.forbidden,
            guidance.required,
            guidance.immediate_actions,
            guidance.follow_up_actions,
            guidance.suggested_actions,
            guidance.reformulation,
            guidance.escalation_contacts,
            guidance.escalation_targets,
            guidance.triggered_by,
            guidance.block_reason,
            guidance.rationale,
        );
    }
    Ok(format!("pub(crate) static GUIDANCE: &[Guidance] = &[\n{lines}];\n"))
}

/// The reason must be one of the domain's rules, and the axes must be its axes: other guidance would never be used.
fn check(files: &Files, domain: usize, source: &Source, guidance: &Guidance) -> Result<(), DataError> {
    let ontology = &files.domains[domain].1;
    let reason = guidance.reason.get_ref();
    let fail = |problem: String| Err(source.error(guidance.reason.span().start, reason, problem));
    let of_treatment = ontology.treatment.iter().map(|treatment| &treatment.reason);
    let mut reasons = of_treatment.chain(ontology.high_stakes.iter().map(|rule| &rule.reason));
    if !reasons.any(|known| known == reason) {
        return fail(format!("no rule of {} has this reason", ontology.domain));
    }
    let named = guidance.with.split_once('=').map(|(axis, _)| axis);
    let mut axes = named.into_iter().chain(guidance.missing.iter().map(String::as_str));
    match axes.find(|name| !ontology.axis.iter().any(|axis| axis.key.get_ref() == name)) {
        Some(name) => fail(format!("{} has no axis {name:?}", ontology.domain)),
        None => Ok(()),
    }
}
