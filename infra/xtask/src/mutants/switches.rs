//! Mutants behind switches: a file's text with all its mutants beside the original, each chosen by its number when the
//! program runs. All mutants are then compiled once, and a mutant costs one run of its judges.

use super::{
    mutant::Mutant,
    places::{Arm, Places},
};
use crate::error::Error;
use std::{cmp::Reverse, collections::BTreeMap, ops::Range};

/// The environment variable that chooses a mutant; 0 or nothing chooses the original.
pub(super) const VARIABLE: &str = "CHOSEN_MUTANT";
/// The first line of a crate's root with switches: a mutant may leave code unused.
pub(super) const PROLOGUE: &str = "#![allow(warnings)]\n";
/// The last lines of a crate's root with switches.
pub(super) fn epilogue() -> String {
    format!(
        "\nmod chosen_mutant {{
    static NUMBER: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    pub(crate) fn number() -> usize {{
        *NUMBER.get_or_init(|| std::env::var({VARIABLE:?}).ok().and_then(|it| it.parse().ok()).unwrap_or_default())
    }}
}}
"
    )
}

/// What reads the chosen number.
const NUMBER: &str = "crate::chosen_mutant::number()";

/// A file's text with switches.
#[derive(Debug, Default)]
pub(super) struct Switched {
    pub(super) text: String,
    /// Where each mutant's own code is, in bytes.
    pieces: Vec<(Range<usize>, usize)>,
    /// The expressions and `match`es that contain switches: an error outside the pieces is due to one of them.
    around: Vec<(Range<usize>, Vec<usize>)>,
}

impl Switched {
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().map(|(_, number)| *number)
    }

    /// The mutant in whose own code an error of the compiler is: it does not compile.
    pub(super) fn culprit(&self, error: &Range<usize>) -> Option<usize> {
        let inside = self.pieces.iter().filter(|(piece, _)| piece.start <= error.start && error.end <= piece.end);
        inside.min_by_key(|(piece, _)| piece.len()).map(|(_, number)| *number)
    }

    /// The mutants of the smallest expression around an error.
    pub(super) fn suspects(&self, error: &Range<usize>) -> &[usize] {
        let inside = self.around.iter().filter(|(whole, _)| whole.start <= error.start && error.end <= whole.end);
        inside.min_by_key(|(whole, _)| whole.len()).map_or(&[], |(_, numbers)| numbers)
    }
}

/// Writes mutants into the text of their file. Those that have no switch there are missing in the result: a constant is
/// computed before a program runs, a condition with `let` has no value, an `impl Trait` is one type.
///
/// `before` and `after` stand before and after the text: [`PROLOGUE`] and [`epilogue`] in the root of a crate.
pub(super) fn switched(text: &str, mutants: &[(usize, &Mutant)], before: &str, after: &str) -> Result<Switched, Error> {
    let places = Places::read(text).map_err(|error| Error::Refused(format!("a file with mutants: {error}")))?;
    let mut edits = Edits::default();
    for (number, mutant) in mutants {
        edits.add(text, &places, *number, mutant);
    }
    Ok(edits.apply(text, before, after))
}

/// A change of a text.
enum Edit {
    /// Code to put in at a place.
    Addition { at: usize, number: usize, code: String },
    /// An expression, and others to choose instead.
    Choice { whole: Range<usize>, others: Vec<(usize, String)> },
}

impl Edit {
    /// Edits in the order of the text, outer ones first.
    fn order(&self) -> (usize, bool, Reverse<usize>) {
        match self {
            Self::Addition { at, .. } => (*at, false, Reverse(*at)),
            Self::Choice { whole, .. } => (whole.start, true, Reverse(whole.end)),
        }
    }
}

/// The changes of a text, and the `match`es that a switch in an arm can break.
#[derive(Default)]
struct Edits {
    edits: Vec<Edit>,
    matches: BTreeMap<(usize, usize), Vec<usize>>,
}

impl Edits {
    fn add(&mut self, text: &str, places: &Places, number: usize, mutant: &Mutant) {
        let at = mutant.bytes(text).start;
        if places.is_fixed(at) {
            return;
        }
        let replacement = &mutant.replacement;
        match mutant.genre.as_str() {
            "FnValue" => {
                self.addition(at, number, format!("if {NUMBER} == {number} {{ return {replacement}; }} "));
            }
            "BinaryOperator" | "UnaryOperator" => {
                let Some((whole, operator)) = places.operators.get(&at) else { return };
                let (before, after) = (&text[whole.start..operator.start], &text[operator.end..whole.end]);
                self.choice(whole, number, format!("{before}{replacement}{after}"));
            }
            "MatchArm" => {
                let Some(Arm { pattern_end, guard, around }) = places.arms.get(&at) else { return };
                match guard {
                    Some(guard) => self.choice(guard, number, "false".to_owned()),
                    None => self.addition(*pattern_end, number, format!(" if {NUMBER} != {number}")),
                }
                self.matches.entry((around.start, around.end)).or_default().push(number);
            }
            "MatchArmGuard" => {
                let Some((guard, around)) = places.guards.get(&at) else { return };
                self.choice(guard, number, replacement.clone());
                self.matches.entry((around.start, around.end)).or_default().push(number);
            }
            _ => {}
        }
    }

    fn addition(&mut self, at: usize, number: usize, code: String) {
        self.edits.push(Edit::Addition { at, number, code });
    }

    fn choice(&mut self, expression: &Range<usize>, number: usize, other: String) {
        let known = self.edits.iter_mut().find_map(|edit| match edit {
            Edit::Choice { whole, others } if whole == expression => Some(others),
            _ => None,
        });
        match known {
            Some(others) => others.push((number, other)),
            None => self.edits.push(Edit::Choice { whole: expression.clone(), others: vec![(number, other)] }),
        }
    }

    fn apply(mut self, text: &str, before: &str, after: &str) -> Switched {
        self.edits.sort_by_key(Edit::order);
        let mut writer = Writer { text, switched: Switched::default(), copied: Vec::new() };
        writer.push(before);
        writer.write(&self.edits, 0..text.len());
        writer.push(after);
        for ((start, end), numbers) in self.matches {
            let whole = writer.place(start)..writer.place(end);
            writer.switched.around.push((whole, numbers));
        }
        writer.switched
    }
}

struct Writer<'a> {
    text: &'a str,
    switched: Switched,
    /// Where each copied part of the text begins: there, and in the new text.
    copied: Vec<(usize, usize)>,
}

impl Writer<'_> {
    /// Writes a part of the text with the edits in it.
    fn write(&mut self, edits: &[Edit], part: Range<usize>) {
        let (mut here, mut rest) = (part.start, edits);
        while let Some((edit, later)) = rest.split_first() {
            match edit {
                Edit::Addition { at, number, code } => {
                    self.copy(here..*at);
                    self.piece(*number, code);
                    (here, rest) = (*at, later);
                }
                Edit::Choice { whole, others } => {
                    self.copy(here..whole.start);
                    let (inside, after) = later.split_at(later.partition_point(|edit| edit.order().0 < whole.end));
                    self.choose(whole, others, inside);
                    (here, rest) = (whole.end, after);
                }
            }
        }
        self.copy(here..part.end);
    }

    /// Writes an expression and its alternatives. The original comes first, so that a type that does not fit is an error
    /// of the alternative.
    fn choose(&mut self, whole: &Range<usize>, others: &[(usize, String)], inside: &[Edit]) {
        let start = self.switched.text.len();
        let not: Vec<String> = others.iter().map(|(number, _)| format!("number != {number}")).collect();
        self.push(&format!("(match {NUMBER} {{ number if {} => (", not.join(" && ")));
        self.write(inside, whole.clone());
        self.push("),");
        for (at, (number, other)) in others.iter().enumerate() {
            let pattern = if at + 1 == others.len() { "_".to_owned() } else { number.to_string() };
            self.push(&format!(" {pattern} => ("));
            self.piece(*number, other);
            self.push("),");
        }
        self.push(" })");
        let numbers = others.iter().map(|(number, _)| *number).collect();
        self.switched.around.push((start..self.switched.text.len(), numbers));
    }

    fn push(&mut self, code: &str) {
        self.switched.text.push_str(code);
    }

    fn piece(&mut self, number: usize, code: &str) {
        let start = self.switched.text.len();
        self.push(code);
        self.switched.pieces.push((start..self.switched.text.len(), number));
    }

    fn copy(&mut self, part: Range<usize>) {
        self.copied.push((part.start, self.switched.text.len()));
        self.push(&self.text[part]);
    }

    /// Where a place of the text is in the new text.
    fn place(&self, byte: usize) -> usize {
        let at = self.copied.partition_point(|(from, _)| *from <= byte).saturating_sub(1);
        self.copied.get(at).map_or(byte, |(from, to)| to + (byte - from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, changes: &[(&str, &str, &str)]) -> Switched {
        let mutants: Vec<Mutant> = changes.iter().map(|(genre, part, by)| Mutant::of(genre, text, part, by)).collect();
        let numbered: Vec<(usize, &Mutant)> = (1..).zip(&mutants).collect();
        switched(text, &numbered, "", "").unwrap_or_default()
    }

    #[test]
    fn an_operator_is_chosen_where_the_program_runs() {
        let text = "fn f(a: u8, b: u8) -> bool { !(a == b) && a > 3 }";
        let changes = [("BinaryOperator", "&&", "||"), ("BinaryOperator", "==", "!="), ("UnaryOperator", "!", "")];
        let result = written(text, &changes);
        let plain = |text: &str| text.replace(NUMBER, "n");
        assert_eq!(
            plain(&result.text),
            "fn f(a: u8, b: u8) -> bool { (match n { number if number != 1 => ((match n { number if number != 3 => (\
             !((match n { number if number != 2 => (a == b), _ => (a != b), }))), _ => ((a == b)), }) && a > 3), \
             _ => (!(a == b) || a > 3), }) }"
        );
        let error = result.text.find("a != b").map(|at| at..at + 6).unwrap_or_default();
        assert_eq!((result.culprit(&error), result.suspects(&error)), (Some(2), &[2][..]));
        let around = result.text.find("a == b").map(|at| at..at + 6).unwrap_or_default();
        assert_eq!((result.culprit(&around), result.suspects(&around)), (None, &[2][..]));
    }

    #[test]
    fn a_result_and_an_arm_are_chosen_where_the_program_runs() {
        let text = "fn f(a: u8) -> u8 { match a { 1 => 2, 2 if a > 1 => 3, _ => 4 } }";
        let changes = [
            ("FnValue", "match a { 1 => 2, 2 if a > 1 => 3, _ => 4 }", "0"),
            ("MatchArm", "1 => 2,", ""),
            ("MatchArm", "2 if a > 1 => 3,", ""),
            ("MatchArmGuard", "a > 1", "true"),
        ];
        let result = written(text, &changes);
        assert_eq!(
            result.text.replace(NUMBER, "n"),
            "fn f(a: u8) -> u8 { if n == 1 { return 0; } match a { 1 if n != 2 => 2, 2 if \
             (match n { number if number != 3 && number != 4 => (a > 1), 3 => (false), _ => (true), }) => 3, _ => 4 } }"
        );
        let whole = result.text.find("match a").unwrap_or_default();
        assert_eq!(result.suspects(&(whole..whole + 7)), [2, 3, 4]);
    }

    #[test]
    fn a_constant_a_let_and_an_opaque_result_have_no_switch() {
        for (genre, text, part, by) in [
            ("BinaryOperator", "const fn f() -> u8 { 1 + 2 }", "+", "-"),
            ("FnValue", "const fn f() -> u8 { 1 }", "1", "0"),
            ("BinaryOperator", "const A: u8 = 1 + 2;", "+", "-"),
            ("BinaryOperator", "fn f(a: Option<u8>) { if let Some(a) = a && a.is_power_of_two() {} }", "&&", "||"),
            ("FnValue", "fn f() -> impl Iterator<Item = u8> { [1].into_iter() }", "[1].into_iter()", "empty()"),
            ("StructField", "fn f() -> A { A { a: 1, ..b } }", "a: 1", ""),
        ] {
            let result = written(text, &[(genre, part, by)]);
            assert_eq!((result.text.as_str(), result.numbers().count()), (text, 0));
        }
        let opaque = "fn f() -> impl Iterator<Item = u8> { [1].into_iter().filter(|a| *a > 1) }";
        assert_eq!(written(opaque, &[("BinaryOperator", "> 1", "<")]).numbers().count(), 1);
    }
}
