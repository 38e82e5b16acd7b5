//! Tests of `oracle filter explain`: the sightings in each view, and why each passed or not.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use filter::{Explanation, Filter, Outcome, Sighting};

fn explain(text: &str) -> Explanation {
    Filter::embedded().explain(text)
}

/// The sightings of a term with the decoding round of each.
fn seen<'e>(explanation: &'e Explanation, id: &str) -> Vec<(usize, &'e Sighting)> {
    let in_view = |view: &'e filter::ViewExplanation| view.sightings.iter().map(move |sighting| (view.round, sighting));
    explanation.views.iter().flat_map(in_view).filter(|(_, sighting)| sighting.id == id).collect()
}

#[test]
fn every_way_of_writing_and_every_round_is_named() {
    for (text, id, round, why) in [
        ("NOUS says so.", "nous", 0, "as written"),
        ("N\u{200b}OUS says so.", "nous", 0, "look-alike, invisible"),
        ("N-O-U-S says so.", "nous", 0, "letters apart"),
        ("N0US says so.", "nous", 0, "digits or signs"),
        ("N&#79;US says so.", "nous", 1, "Captain"),
        ("N%26%2379%3BUS says so.", "nous", 2, "Captain"),
        ("The CSDM says so.", "csdm", 0, "Chronogeomic Spacetime Dynamics Model"),
    ] {
        let explanation = explain(text);
        let sightings = seen(&explanation, id);
        let (_, sighting) = sightings.iter().find(|(seen_in, _)| *seen_in == round).unwrap();
        assert!(sighting.blocked && sighting.why.contains(why), "{text}: {sighting:?}");
        assert_eq!(sighting.spelling, text[sighting.start..sighting.end], "{text}");
        assert!(explanation.checked.hits.iter().any(|hit| (hit.start, hit.end) == (sighting.start, sighting.end)));
    }
}

#[test]
fn what_is_shown_backwards_is_a_view_of_its_own() {
    let text = "Ask \u{202e}SUON\u{202c} now.";
    let explanation = explain(text);
    let view = explanation.views.iter().find(|view| view.turned).unwrap();
    assert_eq!((view.reading.as_str(), view.sightings[0].spelling.as_str()), ("Ask NOUS now.", "SUON"));
    assert_eq!(explanation.checked.outcome, Outcome::Quarantine);
    assert_eq!((explanation.checked.hits[0].start, explanation.checked.hits[0].end), (7, 11));
}

#[test]
fn what_passes_is_explained_too() {
    let explanation = explain("The options are manifold; no us, and a log05.");
    assert_eq!(explanation.checked.outcome, Outcome::Pass);
    let manifold = seen(&explanation, "manifold");
    assert!(!manifold[0].1.blocked && manifold[0].1.why.starts_with("an ordinary sense: allow rule"), "{manifold:?}");
    let nous = seen(&explanation, "nous");
    assert!(!nous[0].1.blocked && nous[0].1.why.starts_with("not the term: words of their own"), "{nous:?}");
}

#[test]
fn the_outcome_has_a_reason() {
    for (text, outcome, why) in [
        ("All good.", Outcome::Pass, "no blocked term"),
        ("TMM says no.", Outcome::Replace, "every blocked term has a substitute"),
        ("The CSDM says no.", Outcome::Quarantine, "no substitute"),
        ("TMM one. TMM two. TMM three. TMM four.", Outcome::Quarantine, "more than three"),
    ] {
        let explanation = explain(text);
        assert_eq!(explanation.checked.outcome, outcome, "{text}");
        assert!(explanation.why.contains(why), "{text}: {}", explanation.why);
    }
}
