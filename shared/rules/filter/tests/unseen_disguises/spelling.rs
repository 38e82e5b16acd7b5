//! Spellings that belong to single characters and to numbers.

use crate::writing::{Piece, Role, Writing};

/// The name of a Greek letter or operator, which HTML and LaTeX share.
fn shared_name(letter: char) -> Option<&'static str> {
    Some(match letter {
        'Φ' => "Phi",
        'Ψ' => "Psi",
        'ζ' => "zeta",
        'χ' => "chi",
        'Δ' => "Delta",
        'Γ' => "Gamma",
        'Ω' => "Omega",
        'Λ' => "Lambda",
        'Σ' => "Sigma",
        'ρ' => "rho",
        'Ξ' => "Xi",
        'α' => "alpha",
        'γ' => "gamma",
        'ε' => "epsilon",
        'ι' => "iota",
        'κ' => "kappa",
        'μ' => "mu",
        '⊕' => "oplus",
        '⊖' => "ominus",
        _ => return None,
    })
}

pub(crate) fn named_entity(letter: char) -> Option<String> {
    let name = match letter {
        '⊘' => "osol",
        '⊡' => "sdotb",
        '_' => "lowbar",
        '.' => "period",
        '%' => "percnt",
        '#' => "num",
        '-' => "hyphen",
        '=' => "equals",
        _ => shared_name(letter)?,
    };
    Some(format!("&{name};"))
}

pub(crate) fn latex(letter: char) -> Option<String> {
    let name = match letter {
        '⊘' => "oslash",
        '⊡' => "boxdot",
        '↗' => "nearrow",
        '%' | '_' | '#' => return Some(format!("\\{letter}")),
        _ => shared_name(letter)?,
    };
    Some(format!("\\{name} "))
}

/// Numbers written out, as whole phrases; only for a term that is not disguised yet.
pub(crate) fn in_words(writing: &Writing, seed: u64) -> Option<Writing> {
    if writing.to_string() != writing.term {
        return None;
    }
    let spellings: &[&'static str] = match writing.term {
        "0.042" => &["zero point zero four two", "nought point oh four two", "point zero four two"],
        "97.4%" => &["ninety-seven point four percent", "97 point 4 percent", "ninety seven point four per cent"],
        "0.97404" => &["zero point nine seven four zero four", "0 point 97404"],
        "10-4" => &["ten-four", "ten four", "Ten-Four"],
        "CGNT-1" => &["CGNT-one", "CGNT One"],
        "Thread #13" => &["Thread number thirteen", "Thread no. 13", "Thread #thirteen"],
        "α.13" => &["alpha.13", "α.thirteen"],
        "S.O.S. v2" => &["S.O.S. version two", "S.O.S. v two"],
        "Φ = 0.042" => &["Φ = zero point zero four two", "Φ equals 0.042"],
        "Ω = 97.4%" => &["Ω = ninety-seven point four percent", "Ω equals 97.4%"],
        "E8" => &["E-eight", "E eight"],
        _ => return None,
    };
    Some(Writing { term: writing.term, ..Writing::plain(spellings[seed as usize % spellings.len()]) })
}

pub(crate) fn roman(writing: &Writing) -> Option<Writing> {
    if writing.to_string() != writing.term {
        return None;
    }
    let (number, numeral) = match writing.term {
        "Thread #13" | "α.13" => ("13", "XIII"),
        "CGNT-1" => ("1", "I"),
        "S.O.S. v2" => ("2", "II"),
        _ => return None,
    };
    let written = writing.term.replacen(number, numeral, 1);
    let pieces = written.chars().map(|letter| Piece::new(letter, Role::Letter)).collect();
    Some(Writing { term: writing.term, pieces, turned: false })
}
