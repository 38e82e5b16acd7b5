//! Judges shares of resources in use: each share, the sum for each resource, and all together.

use super::{
    token::{Kind, Tokens},
    used::Used,
};
use crate::{assessment::Reason, load::COMBINED, measure::Measure};

const RESOURCES: [(&str, &str); 12] = [
    ("capacity", "capacity"),
    ("budget", "the budget"),
    ("quota", "the quota"),
    ("cpu", "CPU"),
    ("memory", "memory"),
    ("ram", "memory"),
    ("disk", "disk"),
    ("storage", "disk"),
    ("gpu", "GPU"),
    ("bandwidth", "bandwidth"),
    ("swap", "swap"),
    ("iops", "IOPS"),
];

/// Above this share a resource is degraded, regardless of the others.
const HIGHEST_SHARE: Measure = Measure::thousandths(900);

/// Judges the shares in the text, such as "CPU 85%" or "60% of memory".
pub(super) fn judge(tokens: &Tokens<'_>, used_numbers: &mut Used) -> Vec<Reason> {
    let mut used: Vec<(&str, Vec<Measure>)> = Vec::new();
    for at in 0..tokens.len() {
        let Some((_, name)) = RESOURCES.iter().find(|(word, _)| *word == tokens.word(at)) else { continue };
        let Some((share, number)) = share_at(tokens, at) else { continue };
        used_numbers.mark(number, number + 1);
        let shares = std::iter::repeat_n(share, users(tokens, at));
        match used.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.extend(shares),
            None => used.push((name, shares.collect())),
        }
    }
    let mut reasons = Vec::new();
    for (name, shares) in &used {
        // A rounding error must not decide.
        let sum = shares.iter().map(|share| share.to_f64()).sum::<f64>() - 1e-9;
        let shown =
            shares.iter().map(|share| format!("{:.0} %", share.to_f64() * 100.0)).collect::<Vec<_>>().join(" and ");
        reasons.push(if sum > 1.0 && shares.len() > 1 {
            Reason::fault(format!("The users of {name} need {shown}: each fits, together they do not."))
        } else if sum > 1.0 {
            Reason::fault(format!("The use of {name} is {shown}, more than there is."))
        } else if sum > HIGHEST_SHARE.to_f64() {
            Reason::caution(format!("The use of {name} is {shown}, above {:.0} %.", HIGHEST_SHARE.to_f64() * 100.0))
        } else {
            Reason::sound(format!("The use of {name} is {shown}."))
        });
    }
    let mean = used.iter().flat_map(|(_, shares)| shares).map(|share| share.to_f64() / HIGHEST_SHARE.to_f64());
    let mean = mean.sum::<f64>() / used.len().max(1) as f64;
    if used.len() > 1 && mean >= COMBINED.mean {
        reasons.push(Reason::caution(format!(
            "Each resource may be within its limit, the combination is not: the mean load is {:.0} %.",
            mean * 100.0
        )));
    }
    reasons
}

/// "Three services each use 40 %": the number of users that one share applies to.
fn users(tokens: &Tokens<'_>, at: usize) -> usize {
    const NUMBERS: [&str; 9] = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    const MOST: usize = 100;
    let (start, _) = tokens.sentence(at);
    let Some(each) = (start..at).find(|of| tokens.word(*of) == "each") else { return 1 };
    let count = |of: usize| {
        let in_words = || NUMBERS.iter().position(|word| *word == tokens.word(of)).map(|index| index + 2);
        tokens.count(of).and_then(|count| usize::try_from(count).ok()).or_else(in_words)
    };
    (start..each).rev().find_map(count).unwrap_or(1).clamp(1, MOST)
}

/// "CPU (is at) 85 %" or "85 % (of the) CPU". Only percentages count: other units mean nothing without their limits.
fn share_at(tokens: &Tokens<'_>, at: usize) -> Option<(Measure, usize)> {
    let mut behind = at + 1;
    while behind < at + 5
        && (matches!(tokens.kind(behind), Some(Kind::Sign('=' | ':')))
            || ["is", "at", "usage", "use", "load", "utilisation", "utilization", "of"].contains(&tokens.word(behind)))
    {
        behind += 1;
    }
    if tokens.is_sign(behind + 1, '%') {
        return tokens.decimal(behind).map(|share| (share.percent(), behind));
    }
    let mut before = at;
    while before > 0 && at - before < 3 && ["of", "the", "its"].contains(&tokens.word(before - 1)) {
        before -= 1;
    }
    let number = before.checked_sub(2).filter(|_| tokens.is_sign(before - 1, '%'))?;
    tokens.decimal(number).map(|share| (share.percent(), number))
}
