//! The list of specification rules, as `infra/spec/rules.toml` has it.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    pub(super) specification: Vec<Specification>,
}

/// A specification with the rules that the code cites.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Specification {
    pub(super) name: String,
    pub(super) rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) rule: String,
    pub(super) says: String,
    pub(super) kept: Vec<String>,
    /// How the code deviates from the rule's letter.
    pub(super) otherwise: Option<String>,
    /// The decision about the deviation, a file of `infra`.
    pub(super) why: Option<String>,
    /// Tests that keep it, where not all of its places' tests do; `oracle anvil assess spec` looks for them.
    #[serde(default)]
    #[allow(dead_code, reason = "read by the command line")]
    pub(super) tests: Vec<String>,
}
