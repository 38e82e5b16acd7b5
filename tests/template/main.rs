//! Rules that template.yaml must obey whatever is added to it; they are checked before a deployment.
//!
//! cfn-lint (a separate step) checks CloudFormation's rules; these tests check ours. Every rule is a plain function
//! from a template to its violations. It is run on the real template and on a copy with a mistake. Rules read the
//! template as data, with its loops expanded.

// A template that cannot be read fails the test.
#![allow(clippy::expect_used)]

mod actions;
mod adapters;
mod alarms;
mod capacity;
mod copies;
mod dashboard;
mod delivery;
mod deployments;
mod erasure;
mod expand;
mod function_settings;
mod integrity;
mod limits;
mod log_table;
mod model;
mod parameters;
mod partitions;
mod patch;
mod permissions;
mod privacy;
mod restore;
mod routes;
mod runbook;
mod samconfig;
mod schedules;
mod silence;
mod storage;
mod topics;

use model::Template;
use patch::Patch;

/// A rule: it takes the template and returns one line per violation.
type Rule = fn(&Template) -> Vec<String>;

/// The rule finds no violation in the real template, and finds the mistake that a patch puts into a copy of it.
fn assert_rule(rule: Rule, mistake: Patch, expected: &str) {
    assert_eq!(rule(&Template::load()), Vec::<String>::new());
    let found = rule(&Template::load().with(mistake));
    assert!(found.iter().any(|line| line.contains(expected)), "expected {expected:?}, found {found:?}");
}

/// [`assert_rule`] of one rule, for its mistakes.
fn finder(rule: Rule) -> impl Fn(Patch, &str) {
    move |mistake, expected| assert_rule(rule, mistake, expected)
}
