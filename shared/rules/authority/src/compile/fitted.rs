//! Writes the fitted weights as a table by hash, and the requests that they set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::iter;

use super::generate::{Generator, MappingRows};
use super::ontology::Files;
use super::{DataError, Source};
use crate::tables::{FITTED_COLUMNS, FITTED_DETECTS, NO_SET, recognised_by};
use crate::text::feature::hash_of;

/// A feature's hash, and its weight in each column.
type Row = (u32, Vec<i8>);

impl Generator {
    pub(super) fn fitted(&mut self, files: &Files, mappings: &mut MappingRows) -> Result<(), DataError> {
        let weights = files.weights.as_ref().map(weights).transpose()?.unwrap_or_default();
        let mut rows = String::new();
        let (mut ids, mut kinds) = (BTreeSet::new(), BTreeSet::new());
        let mut totals: BTreeMap<usize, u16> = BTreeMap::new();
        for (domain, (source, ontology)) in files.domains.iter().enumerate() {
            for fitted in &ontology.fitted {
                let (id, offset) = (fitted.id.get_ref(), fitted.id.span().start);
                let fail = |problem: String| source.error(offset, id, problem);
                // The words are not bound to a quote of the trusted part of a text, so they may supply no state.
                if !fitted.sets.starts_with("request=") {
                    return Err(fail(format!("fitted weights set a request, not {:?}", fitted.sets)));
                }
                let column = |name: &str| {
                    let found = FITTED_COLUMNS.iter().position(|column| *column == name);
                    found.ok_or_else(|| fail(format!("there is no column {name:?}")))
                };
                let (detects, kind) = (column(&fitted.detects)?, column(&fitted.kind)?);
                if detects >= FITTED_DETECTS {
                    return Err(fail(format!("{:?} tells kinds from each other", fitted.detects)));
                }
                if kind < FITTED_DETECTS {
                    return Err(fail(format!("{:?} is no kind", fitted.kind)));
                }
                if !ids.insert(id) || !kinds.insert(kind) {
                    return Err(fail("another rule has this id or this kind".to_owned()));
                }
                // Otherwise a more probable kind below its own total would silence the others.
                if *totals.entry(detects).or_insert(fitted.total) != fitted.total {
                    return Err(fail(format!("all rules that detect {:?} need the same total", fitted.detects)));
                }
                if fitted.total == 0 || !weights.iter().any(|(_, weights)| weights[detects] > 0) {
                    return Err(fail("no text reaches the total, or every text does".to_owned()));
                }
                let (axis, key, value) = self.sets(source, domain, ontology, &fitted.id, &fitted.sets)?;
                let treatment = Self::treatment(files, domain, key, value);
                let _ = writeln!(
                    rows,
                    "    Fitted {{ mapping: {}, detects: {detects}, kind: {kind}, total: {} }},",
                    mappings.count, fitted.total
                );
                mappings.add(&format!(
                    "Mapping {{ id: {}, file: {}, line: {}, axis: {axis}, value: {}, treatment: {treatment}, exceptions: (0, 0), idioms: (0, 0), with: Part {{ start: 0, length: 0 }}, without: {NO_SET}, apart_from: {NO_SET}, negatable: false, inferred: false, needs_weights: false }}",
                    self.names.add(id),
                    self.names.add(&source.name),
                    source.line(offset),
                    self.names.add(value),
                ));
            }
        }
        self.line(format!("pub(crate) static FITTED: &[Fitted] = &[\n{rows}];"));
        self.weights(&weights)
    }

    /// Writes each row at its place by its hash: the byte that recognises a feature, and the weights in the columns that
    /// detect. The weights of the kinds have a table of their own, because most texts reach no total and need none, and most
    /// features have none.
    fn weights(&mut self, weights: &[Row]) -> Result<(), DataError> {
        let with_kinds =
            weights.iter().filter(|(_, weights)| weights[FITTED_DETECTS..].iter().any(|weight| *weight != 0));
        self.columns::<FITTED_DETECTS>("FITTED", weights.iter(), 0)?;
        self.columns::<{ FITTED_COLUMNS.len() - FITTED_DETECTS }>("FITTED_KINDS", with_kinds, FITTED_DETECTS)
    }

    fn columns<'r, const COUNT: usize>(
        &mut self,
        name: &str,
        rows: impl Iterator<Item = &'r Row>,
        first: usize,
    ) -> Result<(), DataError> {
        let rows: Vec<&Row> = rows.collect();
        let hashes: Vec<u32> = rows.iter().map(|(hash, _)| *hash).collect();
        let order = self.places(&format!("{name}_PLACES"), &hashes)?;
        let row = |number: usize| {
            let (hash, weights) = rows[number];
            let weights = weights[first..first + COUNT].iter().map(|weight| weight.cast_unsigned());
            iter::once(recognised_by(*hash)).chain(weights)
        };
        let bytes: Vec<u8> = order.into_iter().flat_map(row).collect();
        self.bytes(&format!("{name}_ROWS"), 1 + COUNT, &bytes);
        Ok(())
    }

    /// Writes a table as one literal of bytes: the compiler needs seconds for half a million numbers.
    fn bytes(&mut self, name: &str, size: usize, bytes: &[u8]) {
        let bytes = bytes.escape_ascii();
        self.line(format!("pub(crate) static {name}: &[[u8; {size}]] = b\"{bytes}\".as_chunks().0;"));
    }
}

/// The rows of the table: a feature and its weights, separated by tabs, in the order of the features. A row without weights
/// of kinds ends after those that detect.
fn weights(source: &Source) -> Result<Vec<Row>, DataError> {
    let (mut rows, mut hashes, mut offset, mut last) = (Vec::new(), BTreeSet::new(), 0, "");
    for line in source.text.lines() {
        let at = offset;
        offset += line.len() + 1;
        if at == 0 {
            let header = format!("feature\t{}", FITTED_COLUMNS.join("\t"));
            if line != header {
                return Err(source.error(0, "header", format!("the first line must be {header:?}")));
            }
            continue;
        }
        let mut cells = line.split('\t');
        let feature = cells.next().unwrap_or_default();
        let fail = |problem: &str| source.error(at, feature, problem);
        let weights: Option<Vec<i8>> = cells.map(|cell| cell.parse().ok()).collect();
        let is_whole = |weights: &Vec<i8>| [FITTED_DETECTS, FITTED_COLUMNS.len()].contains(&weights.len());
        let Some(mut weights) = weights.filter(is_whole) else {
            return Err(fail(
                "a row has a feature and one weight from -128 to 127 for each column, or for the first two",
            ));
        };
        weights.resize(FITTED_COLUMNS.len(), 0);
        if feature <= last {
            return Err(fail("the features must be in ascending order"));
        }
        last = feature;
        let hash = hash_of(feature);
        if hash == 0 || !hashes.insert(hash) {
            return Err(fail("the hash is 0 or another feature has it; leave the feature out"));
        }
        rows.push((hash, weights));
    }
    Ok(rows)
}
