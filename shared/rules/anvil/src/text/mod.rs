//! Reads a request in words. It extracts the data that the rules judge and ignores the rest: urgency, rank and demands
//! reach no rule.

mod beside;
mod connectors;
mod defects;
mod doubt;
mod figures;
mod findings;
mod fold;
mod found_figures;
mod leftover;
mod names;
mod numbers;
mod observed;
mod phrases;
mod readings;
mod resources;
mod services;
mod smoke;
mod stated;
mod subjects;
mod table;
mod token;
mod used;
mod vocabulary;

use crate::{
    assessment::{Assessment, Effect, Mode, Reason},
    facts::Facts,
    kernel::Kernel,
    load::judge_readings,
};
use fold::Folded;
use observed::Observed;
use phrases::Phrases;
use token::Tokens;
use used::Used;
use vocabulary::Term;

/// Assesses a request. A status check gets one word; any other request gets every kernel and reason before the verdict.
#[must_use]
pub fn assess(text: &str, facts: &Facts) -> Assessment {
    let folded = Folded::of(text);
    let tokens = Tokens::of(&folded.text);
    let phrases = Phrases::of(&tokens);
    let observed = Observed::of(facts);
    let original = |start, end| folded.original(text, start, end).to_owned();
    let mut used = Used::new(&tokens);
    let kernels = readings::find(&tokens, &mut used);
    let figures = figures::find(&tokens, &mut used);
    let has_figures = kernels.are_named || !figures.figures.are_empty() || figures.has_unusable;

    if !has_figures {
        let asked = services::quick_question(&tokens, &phrases, &observed, original);
        let is_about_a_service =
            asked.as_ref().is_some_and(|asked| !asked.is_empty()) || !observed.named(&tokens).is_empty();
        if !is_about_a_service && let Some(answer) = findings::about_the_gate(&tokens, &phrases) {
            return Assessment::of(Mode::Analysis, vec![answer]);
        }
        if let Some(asked) = asked {
            let reasons = services::judge_asked(&asked, &observed, &tokens, original);
            return Assessment::of(Mode::Quick, reasons);
        }
    } else if kernels.readings.are_empty()
        && figures.figures.are_empty()
        && findings::asks_for_thresholds(&tokens, &phrases)
    {
        return Assessment::of(Mode::Analysis, vec![findings::thresholds()]);
    }

    let mut reasons = Vec::with_capacity(12);
    if kernels.are_named {
        reasons.extend(judge_readings(&kernels.readings));
    } else {
        reasons.push(Reason::note(format!("No values are given for {}.", Kernel::symbols())));
    }
    let is_forge = !figures.figures.loss.is_empty()
        || !figures.figures.pairs.is_empty()
        || !kernels.are_named && phrases.has(Term::Forge);
    if is_forge || !figures.figures.smoke.is_empty() || figures.has_unusable || figures.is_unclear {
        reasons.extend(figures.figures.judge(is_forge));
    }
    if figures.is_unclear {
        reasons.push(Reason::blocked("The smoke score is not clearly the result of this run's smoke test."));
    }
    if !kernels.readings.are_empty() || !figures.losses_at.is_empty() {
        reasons.extend(doubt::find(text, &tokens, &phrases, &kernels, &figures.losses_at, &used));
    }
    reasons.extend(defects::find(&tokens));
    let resources = resources::judge(&tokens, &mut used);
    let has_resources = !resources.is_empty();
    reasons.extend(resources);
    reasons.extend(leftover::find(&tokens, &kernels, &figures.losses_at, &used));
    let stated = stated::judge_stated(&tokens, &phrases, &observed, original);
    let is_about_services = !stated.reasons.is_empty() || has_figures || is_forge || has_resources;
    if !has_figures && !is_forge && !has_resources {
        reasons.extend(subjects::unobserved(&tokens, &phrases, &observed, &stated, original));
    }
    reasons.extend(stated.reasons);
    reasons.extend(findings::stated(&tokens, &phrases, has_figures, is_about_services));
    if findings::is_about_a_deployment(&tokens, &phrases) && !kernels.are_named && !is_forge {
        reasons.push(Reason::missing("Nothing ships without the kernels' values.", "kernel values"));
    }
    if is_about_services || !stated.named.is_empty() {
        reasons.extend(observed.dead_dependencies(&stated.named));
    } else if !observed.is_empty() {
        reasons.extend(services::judge_asked(&[], &observed, &tokens, original));
    }
    if reasons.iter().map(Reason::effect).max() <= Some(Effect::Caution) {
        reasons.extend(beside::find(&tokens, &kernels, &used, original));
    }
    if phrases.has(Term::Pressure) {
        reasons.push(Reason::note("Urgency, rank and demands decide nothing here."));
    }
    Assessment::of(Mode::Analysis, reasons)
}
