//! Rules that template.yaml must keep whatever is added to it: what is deployed is checked here, before anything is.
//!
//! cfn-lint (a step of its own) knows CloudFormation; this knows us. Every rule is a plain function from a template to
//! the violations found, tried on the real template and on one with the mistake planted.

// A template that cannot be read is a failed test.
#![allow(clippy::expect_used)]

mod alarms;
mod capacity;
mod dashboard;
mod delivery;
mod integrity;
mod model;
mod permissions;
mod privacy;
mod schedules;
mod storage;

use model::Template;

/// A rule: the template in, one line per violation out.
type Rule = fn(&Template) -> Vec<String>;

/// The rule finds nothing in the real template, and does find the mistake that is planted into a copy of it by
/// replacing one piece of its text.
fn assert_rule(rule: Rule, original: &str, planted: &str, expected: &str) {
    let real = Template::load();
    assert_eq!(rule(&real), Vec::<String>::new());
    let text = model::template_text();
    assert!(text.contains(original), "nothing to plant into: {original}");
    let found = rule(&Template::parse(&text.replacen(original, planted, 1)));
    assert!(found.iter().any(|line| line.contains(expected)), "planted {planted:?}, found {found:?}");
}
