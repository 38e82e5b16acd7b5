//! Whether the authority gate of this build had passed its suite before the build was made. Written by the build script
//! from what `cargo xtask test --only attest` found; nothing can change it afterwards.

/// Which suite, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attestation {
    /// SHA-256 over the gate's rules, code and tests.
    pub suite: &'static str,
    /// How it ended.
    pub state: State,
}

/// How the suite ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(&'static str);

impl State {
    /// The suite passed.
    pub const PASSED: Self = Self("passed");
    /// Nobody has run it.
    pub const NOT_ATTESTED: Self = Self("not attested");

    /// In words: `passed`, `failed`, `not attested`, `attested for another suite`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// "Canonical when compliance tests pass."
    #[must_use]
    pub fn is_canonical(self) -> bool {
        self == Self::PASSED
    }
}

/// The authority gate's.
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
