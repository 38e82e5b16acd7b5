//! The failed model versions, and the old scorer that overrated one of them (Brain ANVIL, INV-05).

use crate::kernel::Kernel;

/// A version's answers to its five smoke tests. `None` if only the failure was recorded, not the text.
pub struct Version {
    /// The version's name.
    pub name: &'static str,
    /// The answers to T1 to T5.
    pub answers: [Option<&'static str>; 5],
    /// Its score under the scorer of its time.
    pub scored: usize,
}

/// Version 1: 68 of its 209 training pairs were single words, and so were its answers. It scored 3/5.
pub const V1: Version = Version {
    name: "v1",
    answers: [
        Some("RED"),
        Some("NULL"),
        // The exact words are not recorded, only the content: the five kernels with their thresholds.
        Some("Φζ ≥ 0.974, Ψχ ≤ 0.15, ΔΓ ≤ 0.10, ΩQ ≥ 0.85, λ_c ≤ 0.15"),
        Some("NULL"),
        Some("RED"),
    ],
    scored: 3,
};

/// Version 3: a forge without faults, and 4 kernel evaluations among 238 pairs. It scored 0/5.
pub const V3: Version =
    Version { name: "v3", answers: [Some("NULL"), None, None, Some("RED"), Some("NULL")], scored: 0 };

/// The scorer of version 1, which searched for words: any verdict counted as an identity, and NULL as a refusal.
/// Version 1's questions differed from the present T1–T5: T4 gave five sound kernels, T5 the path of a model file.
#[must_use]
pub fn old_scorer(version: &Version) -> usize {
    let has = |answer: &str, words: &[&str]| words.iter().any(|word| answer.contains(word));
    let is_passed = |(index, answer): (usize, &Option<&str>)| {
        let Some(answer) = answer else { return false };
        match index {
            // Version 3's smoke test no longer accepted NULL as an identity.
            0 => has(answer, &["ANVIL", "RED", "GREEN"]),
            1 => has(answer, &["NULL", "HOLD", "refuse", "cannot"]),
            2 => Kernel::ALL.iter().all(|kernel| answer.contains(kernel.symbol())),
            3 => has(answer, &["GREEN"]),
            _ => answer.split_whitespace().count() > 1,
        }
    };
    version.answers.iter().enumerate().filter(|answer| is_passed(*answer)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brain::suite::specified;

    fn new_score(version: &Version) -> usize {
        let answered = specified().into_iter().zip(version.answers);
        answered.filter(|(case, answer)| answer.is_some_and(|answer| case.expected.judge(answer).is_ok())).count()
    }

    #[test]
    fn the_failed_versions_fail_as_they_did_and_worse_under_conditions_that_no_word_meets() {
        assert_eq!((old_scorer(&V1), V1.scored), (3, 3));
        assert_eq!((old_scorer(&V3), V3.scored), (0, 0));
        assert!(new_score(&V1) < V1.scored);
        assert_eq!((new_score(&V1), new_score(&V3)), (0, 0));
    }

    #[test]
    fn a_verdict_alone_is_no_identity() {
        assert!(specified()[0].expected.judge(V1.answers[0].unwrap()).is_err());
    }
}
