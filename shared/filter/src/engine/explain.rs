//! Tells what was seen in which view of a text, and why it passed or not. For operators; not on any hot path.

use std::ops::ControlFlow;

use crate::engine::align::alignments;
use crate::engine::check::{MOST_REPLACEMENTS, check, each_view};
use crate::engine::judge::{Judgement, judge, span};
use crate::engine::tables::Tables;
use crate::outcome::{Action, Checked, Explanation, Outcome, Sighting, ViewExplanation};

/// Explains one text.
pub(crate) fn explain(tables: &Tables, text: &str) -> Explanation {
    let mut views = Vec::new();
    each_view(tables, text, |view, round| {
        let mut sightings = Vec::new();
        alignments(tables, view, |alignment| {
            let pattern = &tables.lists.patterns[alignment.pattern as usize];
            let term = tables.term_of(pattern);
            let (start, end) = span(view, &alignment);
            let (blocked, why) = match judge(tables, text, view, &alignment) {
                Judgement::NotTheTerm(why) => (false, format!("not the term: {why}")),
                Judgement::Ordinary(rule) => (false, format!("an ordinary sense: allow rule {rule} of {:?}", term.id)),
                Judgement::Blocked { writing, .. } => (true, format!("{} ({})", term.reason, writing.describe())),
            };
            let spelling = text[start..end].to_owned();
            sightings.push(Sighting {
                id: term.id.clone(),
                term: term.text.clone(),
                start,
                end,
                spelling,
                blocked,
                why,
            });
            ControlFlow::Continue(())
        });
        let reading = view.units.iter().map(|unit| unit.ch).collect();
        views.push(ViewExplanation { round, reading, sightings });
    });
    let checked = check(tables, text);
    let why = reason(&checked).to_owned();
    Explanation { views, checked, why }
}

fn reason(checked: &Checked) -> &'static str {
    let unreplaceable = checked.hits.iter().any(|hit| hit.action == Action::Quarantine);
    match checked.outcome {
        Outcome::Pass => "no blocked term in any view",
        Outcome::Replace => "every blocked term has a substitute that fits",
        Outcome::Quarantine if unreplaceable => "a blocked term has no substitute that fits",
        Outcome::Quarantine if checked.hits.len() > MOST_REPLACEMENTS => "more than three replacements",
        Outcome::Quarantine => "with its substitutes in place, the text would be blocked again",
    }
}
