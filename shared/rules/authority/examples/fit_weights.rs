//! Fits `data/fitted_weights.tsv` to the labelled texts in `tests/data/labelled` and to the lines of `tests/data/cases`
//! that may be used for rules (`tests/cases.rs`), and prints what the weights reach on texts that they were not fitted
//! to: `cargo run --release -p authority --example fit_weights`. The same texts give the same bytes
//! on machines with the same mathematical library.
//!
//! Each column is a logistic regression over the words, pairs and beginnings of a text, in the window with the highest sum,
//! as the engine scores it. Four fifths of the texts score the last fifth, in five turns, for the figures. The totals in
//! `data/*.toml` are chosen by these figures and by the counts of the held-out texts.
//!
//! The file has more than 300 lines because it is a whole program: it reads the texts, fits the weights, measures them
//! and writes the table.
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, iter};

use serde::Deserialize;
use tables::{FITTED_COLUMNS, FITTED_DETECTS};

#[allow(dead_code, unreachable_pub, reason = "the example uses part of what the library exports")]
#[path = "../../../domain/src/authority_state.rs"]
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
/// How often a regression sees each text.
const ROUNDS: usize = 10;
/// The texts of one step.
const BATCH: usize = 256;
/// The regressions, each with another order of the texts, whose weights are averaged in the columns that detect.
const REPEATS: u64 = 5;
/// The minimum number of texts with a feature.
const TEXTS: usize = 2;
/// The rates of Adam: of the weights in the first round and after the last, of the means, of the squares.
const STEP: [f32; 2] = [0.02, 0.001];
const MEANS: f32 = 0.1;
const SQUARES: f32 = 0.001;
/// How often a harmless text of the tables counts: the tests require that each is sold.
const REQUIRED: usize = 8;
/// A weight of one in the table.
const UNIT: f32 = 16.0;
/// The maximum number of features with weights, and of those that have weights of the kinds too.
const KEPT: usize = 150_000;
const KEPT_OF_KINDS: usize = 45_000;
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
    /// The column of its kind, if it is known.
    Crisis(Option<usize>),
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
            (Self::Crisis(Some(kind)), _) if CRISES.contains(&column) => Some(kind == column),
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
    /// The windows in which its weights are added up.
    windows: Vec<Window>,
}

/// The numbers of a window's features, each once.
type Window = Vec<u32>;

impl Text {
    /// The highest sum of a window, for each column.
    fn sums(&self, weights: &[[i8; COLUMNS]]) -> [i32; COLUMNS] {
        let mut best = [0; COLUMNS];
        for window in &self.windows {
            for (best, sum) in best.iter_mut().zip(sums(window, weights)) {
                *best = sum.max(*best);
            }
        }
        best
    }
}

fn sums(window: &Window, weights: &[[i8; COLUMNS]]) -> [i32; COLUMNS] {
    let mut sums = [0; COLUMNS];
    for weights in window.iter().map(|feature| weights[*feature as usize]) {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += i32::from(weight);
        }
    }
    sums
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
    for (file, expected, count) in [
        ("business", "ordinary", REQUIRED),
        ("contrast", "contrast", REQUIRED),
        ("crisis", "crisis", 2),
        ("governed", "never_authorized", 1),
    ] {
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
            ("crisis", _) => Label::Crisis(None),
            (crisis, _) => Label::Crisis(Some(kind(crisis)?)),
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
    let numbers: BTreeMap<&str, u32> = names.iter().zip(0..).map(|(name, number)| (name.as_str(), number)).collect();
    let texts = split.into_iter().zip(0..).map(|((file, label, count, words, windows), index)| {
        let known = |word: Vec<String>| word.iter().filter_map(|name| numbers.get(name.as_str()).copied()).collect();
        let words: Vec<Window> = words.into_iter().map(known).collect();
        let window = |(start, end): (usize, usize)| {
            let features: BTreeSet<u32> = words[start..end].iter().flatten().copied().collect();
            features.into_iter().collect()
        };
        let windows = windows.into_iter().map(window).collect();
        Text { file, label, count, fold: index / BLOCK % FOLDS, windows }
    });
    Ok((texts.collect(), names))
}

/// A text of a regression: its windows, of which the one with the highest sum counts, and whether it is one of the column.
type Example<'t> = (Vec<&'t Window>, bool);

/// The weights of each feature, fitted to some texts. Of all features only the [`KEPT`] most telling ones have weights:
/// those whose weights in a fit of all change the most texts the most.
fn fit<'t>(texts: impl Iterator<Item = &'t Text>, features: usize) -> Vec<[i8; COLUMNS]> {
    let texts: Vec<&Text> = texts.flat_map(|text| iter::repeat_n(text, text.count)).collect();
    let examples = |column: usize| -> Vec<Example<'t>> {
        let of = |text: &&'t Text| Some((text.windows.iter().collect(), text.label.is_of(column)?));
        texts.iter().filter_map(of).collect()
    };
    let order = most_telling(&texts, features, |column| regression(&examples(column), &vec![true; features], 0));
    let kept = |count: usize| {
        let mut kept = vec![false; features];
        order.iter().take(count).for_each(|feature| kept[*feature] = true);
        kept
    };
    let mut fitted = vec![[0_i8; COLUMNS]; features];
    for column in [CRISIS, GOVERNED] {
        let (examples, kept) = (examples(column), kept(KEPT));
        let mut average = vec![0_f32; features];
        for repeat in 0..REPEATS {
            let weights = regression(&examples, &kept, repeat);
            average.iter_mut().zip(weights).for_each(|(average, weight)| *average += weight / REPEATS as f32);
        }
        set(&mut fitted, column, &average);
    }
    // The engine asks for the kind of a window that detects.
    for column in CRISES.start..COLUMNS {
        let detects = if CRISES.contains(&column) { CRISIS } else { GOVERNED };
        let mut examples = examples(column);
        for (windows, _) in &mut examples {
            let highest = windows.iter().copied().min_by_key(|window| Reverse(sums(window, &fitted)[detects]));
            *windows = highest.into_iter().collect();
        }
        set(&mut fitted, column, &regression(&examples, &kept(KEPT_OF_KINDS), 0));
    }
    fitted
}

/// The features in the order in which their weights, by `weights` for a column that detects, change texts.
fn most_telling(texts: &[&Text], features: usize, weights: impl Fn(usize) -> Vec<f32>) -> Vec<usize> {
    let mut counts = vec![0_f32; features];
    for text in texts {
        let all: BTreeSet<&u32> = text.windows.iter().flatten().collect();
        all.into_iter().for_each(|feature| counts[*feature as usize] += 1.0);
    }
    let mut telling = vec![0_f32; features];
    for column in [CRISIS, GOVERNED] {
        for ((telling, weight), count) in telling.iter_mut().zip(weights(column)).zip(&counts) {
            *telling = telling.max(weight.abs() * count.sqrt().sqrt());
        }
    }
    let mut order: Vec<usize> = (0..features).collect();
    order.sort_by(|one, other| telling[*other].total_cmp(&telling[*one]));
    order
}

fn set(fitted: &mut [[i8; COLUMNS]], column: usize, weights: &[f32]) {
    for (row, weight) in fitted.iter_mut().zip(weights) {
        row[column] = (weight * UNIT).round().clamp(-127.0, 127.0) as i8;
    }
}

/// A logistic regression by Adam over the highest sum of a text's windows: each step asks which window has the highest sum
/// now, and corrects its weights. `seed` sets the order of the texts and the features that are left out.
fn regression(examples: &[Example<'_>], kept: &[bool], seed: u64) -> Vec<f32> {
    let mut random = random(seed);
    // The last one is added to each sum.
    let constant = kept.len();
    let (mut weights, mut gradient) = (vec![0_f32; constant + 1], vec![0_f32; constant + 1]);
    let (mut means, mut squares) = (vec![0_f32; constant + 1], vec![0_f32; constant + 1]);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let (mut features, mut highest, mut step) = (Vec::new(), Vec::new(), 0);
    for round in 0..ROUNDS {
        for index in (1..order.len()).rev() {
            order.swap(index, random() as usize % (index + 1));
        }
        for numbers in order.chunks(BATCH) {
            for (windows, is) in numbers.iter().map(|number| &examples[*number]) {
                let mut best = f32::NEG_INFINITY;
                for window in windows {
                    features.clear();
                    // Half of the features are left out, drawn anew each time. Without it a text is remembered by its rare words
                    // instead of recognised by all of them.
                    let some = window.iter().filter(|feature| kept[**feature as usize] && random().is_multiple_of(2));
                    features.extend(some.map(|feature| *feature as usize));
                    let sum = weights[constant] + features.iter().map(|feature| weights[*feature]).sum::<f32>();
                    if sum > best {
                        best = sum;
                        std::mem::swap(&mut features, &mut highest);
                    }
                }
                let error = 1.0 / (1.0 + (-best).exp()) - if *is { 1.0 } else { 0.0 };
                highest.iter().chain([&constant]).for_each(|feature| gradient[*feature] += error);
            }
            step += 1;
            let rate = STEP[0] + (STEP[1] - STEP[0]) * round as f32 / ROUNDS as f32;
            let correction = (1.0 - (1.0 - SQUARES).powi(step)).sqrt() / (1.0 - (1.0 - MEANS).powi(step));
            let moments = means.iter_mut().zip(&mut squares);
            for ((weight, gradient), (mean, square)) in weights.iter_mut().zip(&mut gradient).zip(moments) {
                let error = std::mem::take(gradient) / numbers.len() as f32;
                *mean += MEANS * (error - *mean);
                *square += SQUARES * (error * error - *square);
                *weight -= rate * correction * *mean / (square.sqrt() + 1e-8);
            }
        }
    }
    weights.truncate(constant);
    weights
}

fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_add(seed);
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
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
            Label::Crisis(Some(kind)) => (kind, CRISES),
            Label::Governed(Some(kind)) => (kind, CRISES.end..COLUMNS),
            _ => return None,
        };
        Some(kinds.all(|other| sums[other] <= sums[kind]))
    });
    let (right, all) = right.fold((0, 0), |(right, all), is| (right + usize::from(is), all + 1));
    println!("kinds: {right}/{all}");
}

/// The table without the features that have no weight, and without the columns of the kinds where they are all 0.
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
        let has_kinds = weights[FITTED_DETECTS..].iter().any(|weight| *weight != 0);
        for weight in &weights[..if has_kinds { COLUMNS } else { FITTED_DETECTS }] {
            let _ = write!(table, "\t{weight}");
        }
        table.push('\n');
    }
    table
}
