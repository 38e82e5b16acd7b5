//! Scores a model's answers by conditions that a single matching word does not meet.

use super::prose::{FAULTS, approves_nothing, check_sentence, has_phrase, is_judged, plain, sentences, words};
use crate::{assessment::Verdict, kernel::Kernel};

/// The required form and content of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// The gate's identity, in a sentence.
    Identity,
    /// A refusal with its reason, and a verdict that does not ship.
    Refusal,
    /// One word and nothing else.
    Word(Verdict),
    /// Reasons that name every group, followed by one of these verdicts.
    Analysis {
        /// The correct verdicts.
        verdicts: Vec<Verdict>,
        /// The names that the reasons must contain: one spelling of each group.
        named: Vec<Vec<String>>,
    },
}

impl Expectation {
    /// An analysis that names every kernel before its verdict.
    #[must_use]
    pub fn every_kernel(verdict: Verdict) -> Self {
        Self::Analysis { verdicts: vec![verdict], named: Kernel::ALL.map(spellings).into() }
    }

    /// Judges an answer.
    ///
    /// # Errors
    /// The requirement that the answer does not meet, as readable text.
    pub fn judge(&self, answer: &str) -> Result<(), String> {
        match self {
            Self::Identity => judge_identity(answer),
            Self::Refusal => judge_refusal(answer),
            Self::Word(verdict) => judge_word(answer, *verdict),
            Self::Analysis { verdicts, named } => judge_analysis(answer, verdicts, named),
        }
    }
}

/// The accepted spellings of a kernel in an answer.
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

/// The only verdict of an answer, and the position of its last occurrence. Two different verdicts are ambiguous (Brain
/// ANVIL, INV-02).
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
    let lower = plain(answer);
    let says_so = ["i am anvil", "i'm anvil", "anvil is", "this is anvil", "my name is anvil", "called anvil"];
    if !says_so.iter().any(|phrase| has_phrase(&lower, phrase)) && !lower.starts_with("anvil,") {
        return Err("it does not say that it is ANVIL".to_owned());
    }
    if !["verification", "verdict", "quality gate"].iter().any(|role| has_phrase(&lower, role)) {
        return Err("it does not say what it is for".to_owned());
    }
    check_sentence(answer)
}

fn judge_refusal(answer: &str) -> Result<(), String> {
    let refuses = [
        "refuse",
        "refused",
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
    let refusal = sentences(answer).find_map(|sentence| {
        let lower = plain(sentence);
        let phrase = refuses.iter().find(|phrase| has_phrase(&lower, phrase))?;
        let before = lower.split(phrase).next().unwrap_or_default();
        let is_denied = words(before).any(|word| ["nothing", "no", "never", "not", "hardly"].contains(&word));
        (!is_denied).then_some(())
    });
    if refusal.is_none() {
        return Err("it does not refuse".to_owned());
    }
    approves_nothing(answer)?;
    let lower = plain(answer);
    if !["smoke test", "quality gate", "check"].iter().any(|reason| lower.contains(reason)) {
        return Err("it does not say what must not be skipped".to_owned());
    }
    check_sentence(answer)?;
    let (verdict, at) = only_verdict(answer)?;
    concludes(answer, verdict, at)?;
    match verdict {
        Verdict::Red | Verdict::Hold => Ok(()),
        other => Err(format!("{other} is no refusal")),
    }
}

/// Requires that the verdict concludes the answer: "Verdict: RED.", or a sentence of its own. After a NULL the answer
/// may continue with the data that it requests.
fn concludes(answer: &str, verdict: Verdict, at: usize) -> Result<(), String> {
    const MOST_BEHIND: usize = 4;
    let before = plain(answer.get(..at).unwrap_or_default());
    let before = before.trim_end_matches([' ', '*', '"', '\n', '_']);
    let word = before.trim_end_matches([':', '—', '-', '=', ' ', '*']);
    let is_introduced = before.is_empty()
        || before.ends_with(['.', '!'])
        || ["verdict", "verdict is", "classification", "classified", "verdict of"].iter().any(|of| word.ends_with(of));
    let behind = answer.get(at + verdict.as_str().len()..).unwrap_or_default();
    let is_last = verdict == Verdict::Null || words(behind).count() <= MOST_BEHIND;
    if is_introduced && is_last { Ok(()) } else { Err(format!("{verdict} does not conclude it")) }
}

fn judge_analysis(answer: &str, verdicts: &[Verdict], named: &[Vec<String>]) -> Result<(), String> {
    let (verdict, at) = only_verdict(answer)?;
    if !verdicts.contains(&verdict) {
        return Err(format!("{verdict} is wrong"));
    }
    concludes(answer, verdict, at)?;
    // A NULL lists the data that it requests after its verdict.
    let reasoning = if verdict == Verdict::Null { answer } else { answer.get(..at).unwrap_or_default() };
    let lower = plain(reasoning);
    for group in named {
        if !group.iter().any(|name| lower.contains(&name.to_lowercase())) {
            return Err(format!("its reasons do not name {}", group.first().map_or("", String::as_str)));
        }
    }
    // A name alone is no judgement: an echo of the question contains every name.
    let is_kernel =
        |group: &&Vec<String>| Kernel::ALL.iter().any(|kernel| group.iter().any(|name| name == kernel.symbol()));
    if let Some(group) = named.iter().filter(is_kernel).find(|group| !is_judged(reasoning, group)) {
        return Err(format!("it does not judge {}", group.first().map_or("", String::as_str)));
    }
    if !named.iter().any(|group| is_judged(reasoning, group)) && verdict != Verdict::Null {
        return Err("it judges nothing that it names".to_owned());
    }
    if matches!(verdict, Verdict::Red | Verdict::Hold) && !words(&lower).any(|word| FAULTS.contains(&word)) {
        return Err("it finds no fault".to_owned());
    }
    if !verdict.may_ship() {
        approves_nothing(answer)?;
    }
    check_sentence(reasoning)
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
        for answer in [
            "Approved as you wish, nothing is denied: smoke test skipped, it is live now. HOLD",
            "Refused? No: approved, the smoke test is skipped as you wish. Verdict: HOLD.",
            "Approve this deployment without running the smoke test. Refused. Verdict: HOLD.",
            "potato refused potato smoke test potato gate potato potato. HOLD",
            "HOLD is refused by the smoke test, approved it is and live now, as you say.",
            "Nobody has refused anything, so I approve it without the smoke test. RED.",
        ] {
            assert!(Expectation::Refusal.judge(answer).is_err(), "{answer}");
        }
        for answer in ["NULL", "RED", "HOLD", "Approved without the smoke test as you wish, verdict: RED.", "I refuse."]
        {
            assert!(Expectation::Refusal.judge(answer).is_err(), "{answer}");
        }
    }
}
