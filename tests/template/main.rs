//! Rules that template.yaml must keep whatever is added to it: what is deployed is checked here, before anything is.
//!
//! cfn-lint (a step of its own) knows CloudFormation; this knows us. Every rule is a plain function from a template to
//! the violations found, tried on the real template and on one with the mistake planted. Rules read the template as
//! data, its loops expanded.

// A template that cannot be read is a failed test.
#![allow(clippy::expect_used)]

mod actions;
mod alarms;
mod capacity;
mod dashboard;
mod delivery;
mod deployments;
mod erasure;
mod expand;
mod integrity;
mod limits;
mod model;
mod parameters;
mod patch;
mod permissions;
mod privacy;
mod routes;
mod runbook;
mod schedules;
mod silence;
mod storage;
mod topics;

use model::Template;
use patch::Patch;

/// A rule: the template in, one line per violation out.
type Rule = fn(&Template) -> Vec<String>;

/// The rule finds nothing in the real template, and does find the mistake that a patch plants into a copy of it.
fn assert_rule(rule: Rule, mistake: Patch, expected: &str) {
    assert_eq!(rule(&Template::load()), Vec::<String>::new());
    let found = rule(&Template::load().with(mistake));
    assert!(found.iter().any(|line| line.contains(expected)), "expected {expected:?}, found {found:?}");
}
