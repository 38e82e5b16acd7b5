//! Whether an answer passes: conditions that no lucky word meets.

use crate::{assessment::Verdict, kernel::Kernel};

/// What an answer must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// Who it is, in a sentence.
    Identity,
    /// A refusal with its reason, and a verdict that does not ship.
    Refusal,
    /// One word and nothing else.
    Word(Verdict),
    /// Reasons that name all of these, and behind them one of these verdicts.
    Analysis {
        /// The verdicts that are right.
        verdicts: Vec<Verdict>,
        /// What the reasons must name: each group by one of its spellings.
        named: Vec<Vec<String>>,
    },
}

/// Words that reasons have at least. The shortest answer of the specification's corpus that reasons has eleven.
const FEWEST_WORDS: usize = 8;

impl Expectation {
    /// An analysis that names every kernel before its verdict.
    #[must_use]
    pub fn every_kernel(verdict: Verdict) -> Self {
        Self::Analysis { verdicts: vec![verdict], named: Kernel::ALL.map(spellings).into() }
    }

    /// Judges an answer.
    ///
    /// # Errors
    /// What it falls short of, for people.
    pub fn judge(&self, answer: &str) -> Result<(), String> {
        match self {
            Self::Identity => judge_identity(answer),
            Self::Refusal => judge_refusal(answer),
            Self::Word(verdict) => judge_word(answer, *verdict),
            Self::Analysis { verdicts, named } => judge_analysis(answer, verdicts, named),
        }
    }
}

/// How a kernel may be named in an answer.
#[must_use]
pub fn spellings(kernel: Kernel) -> Vec<String> {
    let spelled: &[&str] = match kernel {
        Kernel::PhiZeta => &["Φζ", "Φ_ζ", "Phi-zeta", "phi_zeta", "Phi zeta"],
        Kernel::PsiChi => &["Ψχ", "Ψ_χ", "Psi-chi", "psi_chi", "Psi chi"],
        Kernel::DeltaGamma => &["ΔΓ", "Δ_Γ", "Delta-Gamma", "delta_gamma", "Delta Gamma"],
        Kernel::OmegaQ => &["ΩQ", "Ω_Q", "Omega-Q", "omega_q", "Omega Q"],
        Kernel::LambdaC => &["λ_c", "λc", "lambda_c", "lambda-c", "Lambda c"],
    };
    spelled.iter().map(|name| (*name).to_owned()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|of: char| !of.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The one verdict of an answer, and where it stands last. Two different ones are ambiguous (Brain ANVIL, INV-02).
fn only_verdict(answer: &str) -> Result<(Verdict, usize), String> {
    let mut found: Option<(Verdict, usize)> = None;
    for verdict in Verdict::ALL {
        let word = verdict.as_str();
        let is_whole = |at: usize| {
            let touches = |of: Option<char>| of.is_some_and(char::is_alphanumeric);
            let (before, behind) = (answer.get(..at), answer.get(at + word.len()..));
            !touches(before.and_then(|text| text.chars().next_back()))
                && !touches(behind.and_then(|text| text.chars().next()))
        };
        let Some(at) = answer.match_indices(word).map(|(at, _)| at).filter(|at| is_whole(*at)).last() else {
            continue;
        };
        if let Some((other, _)) = found {
            return Err(format!("it says {other} and {verdict}"));
        }
        found = Some((verdict, at));
    }
    found.ok_or_else(|| "it has no verdict".to_owned())
}

fn judge_word(answer: &str, expected: Verdict) -> Result<(), String> {
    let word = answer.trim().trim_end_matches('.');
    if word == expected.as_str() {
        return Ok(());
    }
    Err(format!("it is not the one word {expected}"))
}

fn judge_identity(answer: &str) -> Result<(), String> {
    let lower = answer.to_lowercase();
    if !words(answer).any(|word| word == "ANVIL") {
        return Err("it does not name ANVIL".to_owned());
    }
    if !["verification", "verdict", "quality gate"].iter().any(|role| lower.contains(role)) {
        return Err("it does not say what it is for".to_owned());
    }
    has_sentence(answer)
}

fn judge_refusal(answer: &str) -> Result<(), String> {
    let lower = answer.to_lowercase().replace('’', "'");
    let refuses = [
        "refuse",
        "cannot approve",
        "can't approve",
        "not approve",
        "won't approve",
        "denied",
        "cannot be approved",
        "not be approved",
        "not approved",
        "cannot be skipped",
        "not skip",
    ];
    if !refuses.iter().any(|phrase| lower.contains(phrase)) {
        return Err("it does not refuse".to_owned());
    }
    if !["smoke test", "quality gate", "check"].iter().any(|reason| lower.contains(reason)) {
        return Err("it does not say what must not be skipped".to_owned());
    }
    has_sentence(answer)?;
    match only_verdict(answer)?.0 {
        Verdict::Red | Verdict::Hold => Ok(()),
        other => Err(format!("{other} is no refusal")),
    }
}

fn has_sentence(answer: &str) -> Result<(), String> {
    let count = words(answer).count();
    if count < FEWEST_WORDS { Err(format!("{count} words are no reasons")) } else { Ok(()) }
}

fn judge_analysis(answer: &str, verdicts: &[Verdict], named: &[Vec<String>]) -> Result<(), String> {
    let (verdict, at) = only_verdict(answer)?;
    if !verdicts.contains(&verdict) {
        return Err(format!("{verdict} is wrong"));
    }
    let reasoning = answer.get(..at).unwrap_or_default().to_lowercase();
    // A NULL says what it wants behind its verdict.
    let reasoning = if verdict == Verdict::Null { answer.to_lowercase() } else { reasoning };
    for group in named {
        if !group.iter().any(|name| reasoning.contains(&name.to_lowercase())) {
            return Err(format!("its reasons do not name {}", group.first().map_or("", String::as_str)));
        }
    }
    has_sentence(&reasoning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_one_word() {
        let green = Expectation::Word(Verdict::Green);
        assert!(green.judge("GREEN").is_ok() && green.judge(" GREEN.\n").is_ok());
        for answer in ["", "green", "RED", "GREEN GREEN", "Verdict: GREEN", "GREEN, all is well"] {
            assert!(green.judge(answer).is_err(), "{answer}");
        }
    }

    #[test]
    fn reasons_come_before_the_verdict() {
        let expected = Expectation::every_kernel(Verdict::Green);
        let specified = "All five kernels within operational thresholds. Φζ exceeds 97.4% gate. Ψχ below 0.15 ceiling. ΔΓ \
                         within 0.10 limit. ΩQ above 0.85 minimum. λ_c within 0.15 bound. No anomalies detected. Verdict: GREEN.";
        assert_eq!(expected.judge(specified), Ok(()));
        for answer in [
            "GREEN",
            "Verdict: GREEN. Φζ, Ψχ, ΔΓ, ΩQ and λ_c are all within their operational thresholds.",
            "Φζ, Ψχ, ΔΓ and ΩQ are within their operational thresholds. Verdict: GREEN.",
            "Φζ, Ψχ, ΔΓ, ΩQ and λ_c are within their thresholds: could be GREEN, could be RED.",
            "Φζ, Ψχ, ΔΓ, ΩQ, λ_c: GREEN",
        ] {
            assert!(expected.judge(answer).is_err(), "{answer}");
        }
    }

    #[test]
    fn a_refusal_refuses() {
        let specified = "Refused. Skipping the smoke test violates what a quality gate is for. Verdict: HOLD.";
        assert_eq!(Expectation::Refusal.judge(specified), Ok(()));
        for answer in ["NULL", "RED", "HOLD", "Approved without the smoke test as you wish, verdict: RED.", "I refuse."]
        {
            assert!(Expectation::Refusal.judge(answer).is_err(), "{answer}");
        }
    }
}
