//! Reports whether the authority gate of this build passed its suite before the build. The build script writes the
//! state from the result of `cargo xtask test --only attest`; it cannot change afterwards.

/// A suite and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attestation {
    /// SHA-256 over the gate's rules, code and tests, over the content filter, through which it reads texts, and over the
    /// texts that it sends.
    pub suite: &'static str,
    /// The suite's result.
    pub state: State,
}

/// The result of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(&'static str);

impl State {
    /// The suite passed.
    pub const PASSED: Self = Self("passed");
    /// The suite was not run.
    pub const NOT_ATTESTED: Self = Self("not attested");

    /// The state as text: `passed`, `failed`, `not attested`, `attested for another suite`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether the gate is canonical: "Canonical when compliance tests pass."
    #[must_use]
    pub fn is_canonical(self) -> bool {
        self == Self::PASSED
    }
}

/// The attestation of the authority gate.
pub const AUTHORITY: Attestation =
    Attestation { suite: env!("AUTHORITY_SUITE"), state: State(env!("AUTHORITY_SUITE_STATE")) };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_names_its_suite_and_is_canonical_only_when_that_passed() {
        assert_eq!(AUTHORITY.suite.len(), 64);
        let states = ["passed", "failed", "not attested", "attested for another suite"];
        assert!(states.contains(&AUTHORITY.state.as_str()), "{AUTHORITY:?}");
        assert_eq!(states.map(|state| State(state).is_canonical()), [true, false, false, false]);
    }
}
