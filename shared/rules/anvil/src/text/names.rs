//! Recognises the names of the five kernels in all spellings.

use super::token::{Kind, Tokens};
use crate::kernel::Kernel;

/// The spellings of the two halves of a name, folded.
const SPELLINGS: [(Kernel, [&[&str]; 2]); 5] = [
    (Kernel::PhiZeta, [&["φ", "phi", "fi"], &["ζ", "zeta", "zêta", "dzeta"]]),
    (Kernel::PsiChi, [&["ψ", "psi"], &["χ", "chi", "khi"]]),
    (Kernel::DeltaGamma, [&["δ", "delta"], &["γ", "gamma"]]),
    (Kernel::OmegaQ, [&["ω", "omega"], &["q"]]),
    (Kernel::LambdaC, [&["λ", "lambda"], &["c", "crit", "critical"]]),
];

/// The kernel whose name begins at a token, and the token after the name.
pub(super) fn name_at(tokens: &Tokens<'_>, at: usize) -> Option<(Kernel, usize)> {
    let word = tokens.word(at);
    let first = word.chars().next()?;
    if !matches!(first, 'φ' | 'ψ' | 'δ' | 'ω' | 'λ' | 'p' | 'f' | 'd' | 'o' | 'l') {
        return None;
    }
    for (kernel, [firsts, seconds]) in SPELLINGS {
        let Some(rest) = firsts.iter().find_map(|half| word.strip_prefix(half)) else { continue };
        if !rest.is_empty() {
            if seconds.contains(&rest) {
                return Some((kernel, at + 1));
            }
            continue;
        }
        // Φ_ζ, Phi-zeta, \Phi_{\zeta}, Φ ζ: at most four signs between the halves.
        let mut behind = at + 1;
        while behind < at + 5
            && matches!(tokens.kind(behind), Some(Kind::Sign('_' | '-' | '\\' | '{' | '}' | '$' | '*')))
        {
            behind += 1;
        }
        if seconds.contains(&tokens.word(behind)) {
            return Some((kernel, behind + 1));
        }
        // λ alone, followed by `=` or `:`, is unambiguous.
        if word == "λ" && matches!(tokens.kind(at + 1), Some(Kind::Sign('=' | ':'))) {
            return Some((kernel, at + 1));
        }
    }
    None
}

/// The kernels named in a row, with only separators between them, and the token after the last name.
pub(super) fn names_in_row(tokens: &Tokens<'_>, first: Kernel, end: usize) -> (Vec<Kernel>, usize) {
    let (mut names, mut behind) = (vec![first], end);
    loop {
        let mut at = behind;
        while matches!(tokens.kind(at), Some(Kind::Sign(',' | '/' | '&' | '|' | '(' | '{' | '$')))
            || tokens.word(at) == "and"
        {
            at += 1;
        }
        match name_at(tokens, at) {
            Some((kernel, end)) => {
                names.push(kernel);
                behind = end;
            }
            None => return (names, behind),
        }
    }
}
