//! Checks for any text that the filter does not panic, changes no byte outside the hits, and returns a clean output.
#![no_main]

use filter::{Filter, Outcome};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let checked = Filter::embedded().check(text);
    let mut end = 0;
    for hit in &checked.hits {
        assert!(end <= hit.start && hit.start < hit.end && text.get(hit.start..hit.end).is_some());
        end = hit.end;
    }
    if checked.outcome == Outcome::Replace {
        assert_eq!(Filter::embedded().check(&checked.text).outcome, Outcome::Pass);
    } else {
        assert_eq!(checked.text, text);
    }
});
