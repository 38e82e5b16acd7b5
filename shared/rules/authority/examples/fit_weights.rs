//! Fits `data/fitted_weights.tsv` to the labelled texts in `tests/data/labelled` and to the lines of `tests/data/cases`
//! that may be used for rules (`tests/cases.rs`), and prints what the weights reach on texts that they were not fitted
//! to: `cargo run --release -p authority --example fit_weights`. The same texts give the same bytes
//! on machines with the same mathematical library.
//!
//! Each column is a logistic regression over the words, pairs and beginnings of a text. Four fifths of the texts score
//! the last fifth, in five turns, for the figures. The totals in `data/*.toml` are chosen by these figures and by
//! the counts of the held-out texts.
//!
//! The file has more than 300 lines because it is a whole program: it reads the texts, fits the weights, measures them
//! and writes the table.
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, iter};

use serde::Deserialize;
use tables::FITTED_COLUMNS;

#[allow(dead_code, unreachable_pub, reason = "the example uses part of what the library exports")]
#[path = "../src/state.rs"]
mod state;
#[allow(dead_code, reason = "the example uses part of what the library uses")]
#[path = "../src/tables.rs"]
mod tables;
#[allow(dead_code, reason = "the example uses part of what the library uses")]
#[path = "../src/text/mod.rs"]
mod text;

const COLUMNS: usize = FITTED_COLUMNS.len();
/// The columns that detect: a crisis, a governed question.
const CRISIS: usize = 0;
const GOVERNED: usize = 1;
/// The columns of the kinds of crises; those of the governed questions follow.
const CRISES: std::ops::Range<usize> = 2..5;

const FOLDS: usize = 5;
/// Consecutive texts in one fold: a pair of twins has the same words, and must not be fitted to one and tested with the other.
const BLOCK: usize = 20;
const ROUNDS: usize = 30;
/// How often the fit is repeated with corrections.
const REPEATS: usize = 2;
/// The most windows of a harmless text by which a fit is corrected, and the lowest sum of all but the first.
const MISTAKEN: usize = 4;
const MISLEADING: i32 = 20;
/// The minimum number of texts with a feature.
const TEXTS: usize = 2;
/// The percentage of a row's features that one step leaves out, drawn anew each time. Without it a text is remembered by its rare
/// words instead of recognised by all of them.
const DROPPED: u64 = 50;
const STEP: f32 = 0.1;
/// How often a harmless text of the tables counts: the tests require that each is sold.
const REQUIRED: usize = 8;
/// A weight of one in the table.
const UNIT: f32 = 16.0;
/// The maximum number of features with weights.
const KEPT: usize = 59_000;
/// Documents and code of the repository, of which one piece in [`EVERY`] is a harmless text.
const REPOSITORY: [&str; 8] = [
    "README.md",
    "CONTRIBUTING.md",
    "infra",
    "functions",
    "shared/domain",
    "shared/platform",
    "shared/vendors",
    "shared/audit",
];
const EVERY: usize = 4;
/// The shares of harmless texts that may reach a total, for the figures.
const FALSE_HITS: [f64; 6] = [0.005, 0.01, 0.015, 0.02, 0.03, 0.04];

#[derive(Deserialize)]
struct Case {
    text: String,
    expected: String,
    #[serde(default)]
    domain: Option<String>,
    #[serde(skip, default = "once")]
    count: usize,
}

const fn once() -> usize {
    1
}

#[derive(Clone, Copy, PartialEq)]
enum Label {
    Ordinary,
    Contrast,
    /// The column of its kind.
    Crisis(usize),
    /// The column of its domain, if it is known.
    Governed(Option<usize>),
}

impl Label {
    fn is_harmless(self) -> bool {
        matches!(self, Self::Ordinary | Self::Contrast)
    }

    /// Whether a text is one of a column; `None` if it says nothing about it. A crisis says nothing about the governed
    /// questions: it is blocked before.
    fn is_of(self, column: usize) -> Option<bool> {
        match (self, column) {
            (Self::Crisis(_), CRISIS) | (Self::Governed(_), GOVERNED) => Some(true),
            (_, CRISIS) => Some(false),
            (Self::Crisis(_), GOVERNED) => None,
            (_, GOVERNED) => Some(false),
            (Self::Crisis(kind), _) if CRISES.contains(&column) => Some(kind == column),
            (Self::Governed(Some(kind)), _) if !CRISES.contains(&column) => Some(kind == column),
            _ => None,
        }
    }
}

struct Text {
    file: String,
    label: Label,
    /// How often it counts.
    count: usize,
    fold: usize,
    /// For each word the numbers of its features.
    words: Vec<Vec<usize>>,
    /// The windows in which its weights are added up.
    windows: Vec<(usize, usize)>,
}

/// What one row of a regression has: features, each once.
type Features = BTreeSet<usize>;

impl Text {
    fn features(&self, (start, end): (usize, usize)) -> Features {
        self.words[start..end].iter().flatten().copied().collect()
    }

    /// A text as rows: itself, or the widest windows of a longer harmless text. A longer text of another label has none:
    /// most of its words are harmless.
    fn rows(&self, is: bool) -> Vec<Features> {
        if self.words.len() <= text::windows::MAX_WORDS {
            return vec![self.features((0, self.words.len()))];
        }
        let covers = |one: &(usize, usize), other: &(usize, usize)| one.0 <= other.0 && one.1 >= other.1;
        let is_widest = |one: &&(usize, usize)| !self.windows.iter().any(|other| other != *one && covers(other, one));
        let widest = self.windows.iter().filter(is_widest).filter(|_| !is);
        widest.map(|window| self.features(*window)).collect()
    }

    /// The rows by which an earlier fit is corrected, because the highest sum of a window counts: of a longer text of the
    /// label the window with the highest sum, and of a harmless text the [`MISTAKEN`] windows with the highest sums from
    /// [`MISLEADING`] on.
    fn corrections(&self, is: bool, earlier: &[[i8; COLUMNS]], detects: usize) -> Vec<Features> {
        let sum = |row: &Features| row.iter().map(|feature| i32::from(earlier[*feature][detects])).sum::<i32>();
        let windows = self.windows.iter().map(|window| self.features(*window));
        if is {
            let is_long = self.words.len() > text::windows::MAX_WORDS;
            return windows.filter(|_| is_long).max_by_key(sum).into_iter().collect();
        }
        if !self.label.is_harmless() || self.windows.len() == 1 {
            return Vec::new();
        }
        let mut summed: Vec<(i32, Features)> = windows.map(|row| (sum(&row), row)).collect();
        summed.sort_by_key(|(sum, _)| std::cmp::Reverse(*sum));
        let highest = summed.into_iter().take(MISTAKEN).enumerate();
        highest.take_while(|(number, (sum, _))| *number == 0 || *sum >= MISLEADING).map(|(_, (_, row))| row).collect()
    }

    /// The highest sum of a window, for each column.
    fn sums(&self, weights: &[[i8; COLUMNS]]) -> [i32; COLUMNS] {
        let mut best = [0; COLUMNS];
        for (start, end) in &self.windows {
            let features = self.features((*start, *end));
            let mut sums = [0; COLUMNS];
            for weights in features.into_iter().map(|feature| weights[feature]) {
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum += i32::from(weight);
                }
            }
            for (best, sum) in best.iter_mut().zip(sums) {
                *best = sum.max(*best);
            }
        }
        best
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (texts, names) = texts(cases(root)?)?;
    println!("{} texts, {} features", texts.len(), names.len());
    let weights = fit(texts.iter(), names.len());
    fs::write(root.join("data/fitted_weights.tsv"), table(&names, &weights))?;
    let mut sums = vec![[0; COLUMNS]; texts.len()];
    for fold in 0..FOLDS {
        let weights = fit(texts.iter().filter(|text| text.fold != fold), names.len());
        for (text, sums) in texts.iter().zip(&mut sums).filter(|(text, _)| text.fold == fold) {
            *sums = text.sums(&weights);
        }
    }
    report(&texts, &sums, &shipped_totals(root)?);
    Ok(())
}

/// The labelled texts, the odd lines of the cases, tables of texts, and the repository. Held-out texts are in none of them.
fn cases(root: &Path) -> Result<Vec<(String, Case)>, Box<dyn Error>> {
    let mut all = Vec::new();
    for (directory, every) in [("tests/data/labelled", 1), ("tests/data/cases", 2)] {
        let mut paths: Vec<_> =
            fs::read_dir(root.join(directory))?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        paths.sort();
        for path in paths {
            let file = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            for line in fs::read_to_string(&path)?.lines().step_by(every) {
                let case: Case = serde_json::from_str(line).map_err(|error| format!("{file}: {error}: {line}"))?;
                all.push((file.clone(), case));
            }
        }
    }
    for (file, expected, count) in
        [("business", "ordinary", REQUIRED), ("contrast", "contrast", REQUIRED), ("governed", "never_authorized", 1)]
    {
        let table = fs::read_to_string(root.join(format!("tests/data/{file}.tsv")))?;
        for (_, text) in table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t')) {
            let case = Case { text: text.to_owned(), expected: expected.to_owned(), domain: None, count };
            all.push((format!("table_{file}"), case));
        }
    }
    all.extend(repository(root)?);
    Ok(all)
}

/// What customers paste: pieces of the documents and the code of this repository, without the decisions about the gate.
fn repository(root: &Path) -> Result<Vec<(String, Case)>, Box<dyn Error>> {
    let mut all = Vec::new();
    let mut waiting: Vec<_> = REPOSITORY.iter().map(|place| root.join("../../..").join(place)).collect();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let mut entries: Vec<_> =
                fs::read_dir(&path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
            entries.sort();
            waiting.extend(entries);
            continue;
        }
        let is_text = path
            .extension()
            .is_some_and(|kind| ["md", "rs", "html", "js", "toml", "json"].iter().any(|text| kind == *text));
        if !is_text || path.ends_with("authority.md") {
            continue;
        }
        let content = fs::read_to_string(&path)?;
        let words: Vec<&str> = content.split_inclusive(char::is_whitespace).collect();
        for (piece, number) in words.chunks(text::windows::MAX_WORDS).zip(0..) {
            if number % EVERY == 0 {
                let case = Case { text: piece.concat(), expected: "ordinary".to_owned(), domain: None, count: 1 };
                all.push(("repository".to_owned(), case));
            }
        }
    }
    Ok(all)
}

/// The texts as features, and the features' names.
fn texts(cases: Vec<(String, Case)>) -> Result<(Vec<Text>, Vec<String>), Box<dyn Error>> {
    let mut split = Vec::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (file, case) in cases {
        let kind = |name: &str| {
            let found = FITTED_COLUMNS.iter().position(|column| *column == name);
            found.ok_or_else(|| format!("{file}: there is no column {name}: {}", case.text))
        };
        let label = match (case.expected.as_str(), case.domain.as_deref()) {
            ("ordinary", _) => Label::Ordinary,
            ("contrast", _) => Label::Contrast,
            ("never_authorized", domain) => Label::Governed(domain.map(kind).transpose()?),
            (crisis, _) => Label::Crisis(kind(crisis)?),
        };
        let readings = filter::readings(&case.text);
        let reading = readings.first().map(|reading| reading.text.clone()).unwrap_or_default();
        let tokens = text::token::tokens(&reading);
        let words = text::feature::features_by_word(&reading, &tokens);
        for feature in words.iter().flatten().collect::<BTreeSet<_>>() {
            *counts.entry(feature.clone()).or_default() += 1;
        }
        let mut windows = Vec::new();
        text::windows::windows(&tokens, |start, ends| windows.extend(ends.iter().map(|end| (start, *end))));
        split.push((file, label, case.count, words, windows));
    }
    let names: Vec<String> = counts.into_iter().filter(|(_, count)| *count >= TEXTS).map(|(name, _)| name).collect();
    let numbers: BTreeMap<&str, usize> = names.iter().zip(0..).map(|(name, number)| (name.as_str(), number)).collect();
    let texts = split.into_iter().zip(0..).map(|((file, label, count, words, windows), index)| {
        let known = |word: Vec<String>| word.iter().filter_map(|name| numbers.get(name.as_str()).copied()).collect();
        Text { file, label, count, fold: index / BLOCK % FOLDS, words: words.into_iter().map(known).collect(), windows }
    });
    Ok((texts.collect(), names))
}

/// The weights of each feature, fitted to some texts, and then [`REPEATS`] times to the windows as well in which the fit
/// before was mistaken.
fn fit<'t>(texts: impl Iterator<Item = &'t Text>, features: usize) -> Vec<[i8; COLUMNS]> {
    let texts: Vec<&Text> = texts.collect();
    let first = fit_once(&texts, features, None);
    (0..REPEATS).fold(first, |earlier, _| fit_once(&texts, features, Some(&earlier)))
}

/// Of all features only the [`KEPT`] most telling ones have weights: those whose weights in a fit of all change the most texts
/// the most.
fn fit_once(texts: &[&Text], features: usize, earlier: Option<&[[i8; COLUMNS]]>) -> Vec<[i8; COLUMNS]> {
    let mut telling = vec![0_f32; features];
    for column in [CRISIS, GOVERNED] {
        let rows = rows(texts, column, earlier);
        let mut counts = vec![0_f32; features];
        rows.iter().flat_map(|(row, _)| row).for_each(|feature| counts[*feature] += 1.0);
        for ((telling, weight), count) in telling.iter_mut().zip(regression(&rows, features)).zip(counts) {
            *telling = telling.max(weight.abs() * count.sqrt().sqrt());
        }
    }
    let mut order: Vec<usize> = (0..features).collect();
    order.sort_by(|one, other| telling[*other].total_cmp(&telling[*one]));
    let kept: BTreeSet<usize> = order.into_iter().take(KEPT).collect();
    let mut fitted = vec![[0_i8; COLUMNS]; features];
    for column in 0..COLUMNS {
        let mut rows = rows(texts, column, earlier);
        rows.iter_mut().for_each(|(row, _)| row.retain(|feature| kept.contains(feature)));
        for (weights, weight) in fitted.iter_mut().zip(regression(&rows, features)) {
            weights[column] = (weight * UNIT).round().clamp(-127.0, 127.0) as i8;
        }
    }
    fitted
}

fn rows(texts: &[&Text], column: usize, earlier: Option<&[[i8; COLUMNS]]>) -> Vec<(Features, bool)> {
    let detects = if column == CRISIS || CRISES.contains(&column) { CRISIS } else { GOVERNED };
    let of = |text: &Text, is: bool| {
        let mut rows = text.rows(is);
        for row in earlier.iter().flat_map(|earlier| text.corrections(is, earlier, detects)) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows.into_iter().map(move |row| (row, is))
    };
    let labelled = texts.iter().filter_map(|text| Some((*text, text.label.is_of(column)?)));
    labelled.flat_map(|(text, is)| iter::repeat_n(text, text.count).flat_map(move |text| of(text, is))).collect()
}

/// A logistic regression by AdaGrad over features that are scaled by [`scales`]. The order of the rows is always the same.
fn regression(rows: &[(Features, bool)], features: usize) -> Vec<f32> {
    let (mut weights, mut squares) = (vec![0_f32; features], vec![1e-6_f32; features]);
    let (mut bias, mut bias_square) = (0_f32, 1e-6_f32);
    let scales = scales(rows, features);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut kept = Vec::new();
    for _ in 0..ROUNDS {
        for index in (1..order.len()).rev() {
            order.swap(index, random() as usize % (index + 1));
        }
        for number in &order {
            let (row, is) = &rows[*number];
            kept.clear();
            kept.extend(row.iter().copied().filter(|_| random() % 100 >= DROPPED));
            let sum: f32 = bias + kept.iter().map(|feature| weights[*feature] * scales[*feature]).sum::<f32>();
            let error = 1.0 / (1.0 + (-sum).exp()) - if *is { 1.0 } else { 0.0 };
            bias_square += error * error;
            bias -= STEP * error / bias_square.sqrt();
            for feature in &kept {
                let error = error * scales[*feature];
                squares[*feature] += error * error;
                weights[*feature] -= STEP * error / squares[*feature].sqrt();
            }
        }
    }
    weights.iter().zip(scales).map(|(weight, scale)| weight * scale).collect()
}

/// The square root of |ln(p / q)|: p is the feature's share of all features in the column's rows, q in the other rows. A
/// feature with equal shares learns nothing, and one that the shares tell apart learns fast.
fn scales(rows: &[(Features, bool)], features: usize) -> Vec<f32> {
    // Half a row more for each, so that no share is zero.
    let mut counts = [vec![0.5_f32; features], vec![0.5_f32; features]];
    for (row, is) in rows {
        row.iter().for_each(|feature| counts[usize::from(*is)][*feature] += 1.0);
    }
    let [others, own] = counts.map(|counts| {
        let all: f32 = counts.iter().sum();
        counts.into_iter().map(move |count| count / all)
    });
    own.zip(others).map(|(own, others)| (own / others).ln().abs().sqrt()).collect()
}

/// The totals in `data/*.toml`, by the column that must reach them.
fn shipped_totals(root: &Path) -> Result<BTreeMap<String, i32>, Box<dyn Error>> {
    let mut totals = BTreeMap::new();
    for entry in fs::read_dir(root.join("data"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let file: toml::Table = fs::read_to_string(&path)?.parse()?;
        for rule in file.get("fitted").and_then(toml::Value::as_array).into_iter().flatten() {
            let (detects, total) = (rule.get("detects"), rule.get("total"));
            let detects = detects.and_then(toml::Value::as_str).ok_or("a rule detects a column")?;
            let total = total.and_then(toml::Value::as_integer).ok_or("a rule has a total")?;
            totals.insert(detects.to_owned(), i32::try_from(total)?);
        }
    }
    Ok(totals)
}

/// What reaches each total: those that some shares of the harmless texts reach, and the one that ships, with every file.
fn report(texts: &[Text], sums: &[[i32; COLUMNS]], shipped: &BTreeMap<String, i32>) {
    for (column, name) in [(CRISIS, FITTED_COLUMNS[CRISIS]), (GOVERNED, FITTED_COLUMNS[GOVERNED])] {
        let harmless = texts.iter().zip(sums).filter(|(text, _)| text.label.is_harmless());
        let mut reached: Vec<i32> = harmless.map(|(_, sums)| sums[column]).collect();
        reached.sort_unstable();
        let of_share = |share: f64| reached[reached.len() - 1 - (reached.len() as f64 * share) as usize] + 1;
        let shipped = shipped.get(name).copied();
        for total in FALSE_HITS.into_iter().map(of_share).chain(shipped) {
            let of = |is: &dyn Fn(Label) -> bool, file: &str| {
                let texts = texts.iter().zip(sums).filter(|(text, _)| is(text.label) && text.file.contains(file));
                let (found, all) =
                    texts.fold((0, 0), |(found, all), (_, sums)| (found + usize::from(sums[column] >= total), all + 1));
                format!("{found}/{all}")
            };
            let own = |label: Label| label.is_of(column) == Some(true);
            println!(
                "{name}: total {total}: own {}, contrast {}, ordinary {}",
                of(&own, ""),
                of(&|label| label == Label::Contrast, ""),
                of(&|label| label == Label::Ordinary, "")
            );
            if Some(total) == shipped {
                for file in texts.iter().map(|text| text.file.as_str()).collect::<BTreeSet<_>>() {
                    println!("    {file}: own {}, harmless {}", of(&own, file), of(&|label| label.is_harmless(), file));
                }
            }
        }
    }
    let right = texts.iter().zip(sums).filter_map(|(text, sums)| {
        let (kind, mut kinds) = match text.label {
            Label::Crisis(kind) => (kind, CRISES),
            Label::Governed(Some(kind)) => (kind, CRISES.end..COLUMNS),
            _ => return None,
        };
        Some(kinds.all(|other| sums[other] <= sums[kind]))
    });
    let (right, all) = right.fold((0, 0), |(right, all), is| (right + usize::from(is), all + 1));
    println!("kinds: {right}/{all}");
}

/// The table without the features that have no weight.
fn table(names: &[String], weights: &[[i8; COLUMNS]]) -> String {
    let mut table = iter::once("feature").chain(FITTED_COLUMNS).collect::<Vec<_>>().join("\t");
    table.push('\n');
    let mut hashes = BTreeSet::from([0]);
    for (name, weights) in names.iter().zip(weights).filter(|(_, weights)| **weights != [0; COLUMNS]) {
        // Of two features with one hash, the table can have one.
        if !hashes.insert(text::feature::hash_of(name)) {
            continue;
        }
        table.push_str(name);
        for weight in weights {
            let _ = write!(table, "\t{weight}");
        }
        table.push('\n');
    }
    table
}
