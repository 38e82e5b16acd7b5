//! Explains the sightings in each view of a text, and why each passed or not. For operators; not on a hot path.

use std::ops::{ControlFlow, Range};

use crate::engine::align::Aligner;
use crate::engine::bidi;
use crate::engine::check::{MOST_REPLACEMENTS, check};
use crate::engine::decode::each_view;
use crate::engine::features::Features;
use crate::engine::judge::{Judgement, judge, span};
use crate::engine::tables::Tables;
use crate::engine::view::View;
use crate::outcome::{Action, Checked, Explanation, Outcome, Sighting, ViewExplanation};

/// Explains one text.
pub(crate) fn explain(tables: &Tables, text: &str) -> Explanation {
    let mut views = Vec::new();
    each_view(&tables.characters, text, |view, round| {
        let sightings = sightings(tables, text, text, view, Some);
        views.push(ViewExplanation { round, turned: false, reading: reading(view), sightings });
    });
    if let Some((shown, turned)) = bidi::as_shown(text) {
        each_view(&tables.characters, &shown, |view, round| {
            let sightings = sightings(tables, text, &shown, view, |place| bidi::in_source(place, &turned));
            views.push(ViewExplanation { round, turned: true, reading: reading(view), sightings });
        });
    }
    let checked = check(tables, text);
    let why = reason(&checked).to_owned();
    Explanation { views, checked, why }
}

fn reading(view: &View) -> String {
    view.units.iter().map(|unit| unit.ch).collect()
}

/// The sightings in a view of `text`. `in_source` maps a place of the view to the source, or returns `None` for a place
/// that does not count.
fn sightings(
    tables: &Tables,
    source: &str,
    text: &str,
    view: &View,
    in_source: impl Fn(Range<usize>) -> Option<Range<usize>>,
) -> Vec<Sighting> {
    let mut sightings = Vec::new();
    let mut features = Features::default();
    Aligner::new(tables).each(view, |_, alignment| {
        let term = tables.term_of(&tables.lists.patterns[alignment.pattern as usize]);
        let (start, end) = span(view, alignment);
        let Some(Range { start, end }) = in_source(start..end) else {
            return ControlFlow::Continue(());
        };
        let (blocked, why) = match judge(tables, text, view, alignment, &mut features, None) {
            Judgement::NotTheTerm(why) => (false, format!("not the term: {why}")),
            Judgement::Ordinary(rule) => (false, format!("an ordinary sense: allow rule {rule} of {:?}", term.id)),
            Judgement::Blocked { writing, .. } => (true, format!("{} ({})", term.reason, writing.describe())),
        };
        sightings.push(Sighting {
            id: term.id.clone(),
            term: term.text.clone(),
            start,
            end,
            spelling: source[start..end].to_owned(),
            blocked,
            why,
        });
        ControlFlow::Continue(())
    });
    sightings
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
