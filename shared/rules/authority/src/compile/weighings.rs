//! Writes the weighings, and each of their signs as a mapping that counts only with others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::generate::{Generator, IdiomRanges, MappingRows};
use super::ontology::{Files, Ontology, Sign, Weighing};
use super::{DataError, Source};
use crate::tables::{MOST_FAMILIES, NO_SET};

/// A weighing with its signs, all of one domain.
struct Weighed<'f> {
    domain: usize,
    source: &'f Source,
    ontology: &'f Ontology,
    weighing: &'f Weighing,
    signs: Vec<(&'f Source, &'f Sign)>,
    /// The heaviest weight of each family.
    families: BTreeMap<&'f str, u8>,
    /// The same without the signs that are `beside`.
    core: BTreeMap<&'f str, u8>,
}

impl<'f> Weighed<'f> {
    fn of(files: &'f Files) -> Result<Vec<Self>, DataError> {
        let mut all: Vec<Self> = Vec::new();
        for (domain, source, ontology, part) in files.parts() {
            for weighing in &part.weighing {
                let (signs, families, core) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
                if all.iter().any(|other| other.weighing.id.get_ref() == weighing.id.get_ref()) {
                    let problem = "the weighing is defined twice";
                    return Err(source.error(weighing.id.span().start, weighing.id.get_ref(), problem));
                }
                all.push(Self { domain, source, ontology, weighing, signs, families, core });
            }
        }
        let mut ids = BTreeSet::new();
        for (domain, source, _, part) in files.parts() {
            for sign in &part.sign {
                let (id, of) = (sign.id.get_ref(), sign.of.get_ref());
                let fail = |problem: String| source.error(sign.id.span().start, id, problem);
                if !ids.insert((of, id)) {
                    return Err(fail("the sign is defined twice".to_owned()));
                }
                if sign.weight == 0 {
                    return Err(fail("a sign needs a weight".to_owned()));
                }
                let mut known = all.iter_mut().filter(|one| one.domain == domain);
                let Some(weighed) = known.find(|one| one.weighing.id.get_ref() == of) else {
                    return Err(fail(format!("this domain has no weighing {of:?}")));
                };
                weighed.signs.push((source, sign));
                for families in [Some(&mut weighed.families), (!sign.beside).then_some(&mut weighed.core)] {
                    let heaviest = families.map(|families| families.entry(sign.family.as_str()).or_default());
                    if let Some(heaviest) = heaviest {
                        *heaviest = sign.weight.max(*heaviest);
                    }
                }
            }
        }
        all.iter().try_for_each(Self::validate)?;
        Ok(all)
    }

    fn validate(&self) -> Result<(), DataError> {
        let Weighing { id, sets, total, core, families, window, .. } = self.weighing;
        let fail = |problem: String| Err(self.source.error(id.span().start, id.get_ref(), problem));
        // Signs are not bound to a quote of the trusted part of a text, so they may supply no state.
        if !sets.starts_with("request=") {
            return fail(format!("a weighing sets a request, not {sets:?}"));
        }
        if [window, total, core, families].contains(&&0) {
            return fail("window, total, core and families must not be 0".to_owned());
        }
        if self.families.len() > MOST_FAMILIES {
            return fail(format!("there are more than {MOST_FAMILIES} families"));
        }
        let sum = |families: &BTreeMap<&str, u8>| families.values().map(|weight| u32::from(*weight)).sum::<u32>();
        if self.families.len() < usize::from(*families) || sum(&self.families) < u32::from(*total) {
            return fail("all of its signs together do not reach the total and the number of families".to_owned());
        }
        if sum(&self.core) < u32::from(*core) {
            return fail("its signs without beside do not reach the core".to_owned());
        }
        if self.weighing.against.is_empty() != (self.weighing.against_weight == 0) {
            return fail("against and against_weight need each other".to_owned());
        }
        Ok(())
    }
}

impl Generator {
    pub(super) fn weighings(
        &mut self,
        files: &Files,
        idioms: &IdiomRanges<'_>,
        mappings: &mut MappingRows,
    ) -> Result<(), DataError> {
        let mut weighings = String::new();
        for (number, weighed) in Weighed::of(files)?.into_iter().enumerate() {
            let Weighed { domain, source, ontology, weighing, signs, families, .. } = weighed;
            let id = weighing.id.get_ref();
            let (axis, key, value) = self.sets(source, domain, ontology, &weighing.id, &weighing.sets)?;
            let treatment = Self::treatment(files, domain, key, value);
            let idioms = idioms.get(&(domain, weighing.sets.as_str())).copied().unwrap_or_default();
            let exceptions = self.add_patterns(source, id, mappings.count, true, &weighing.except)?;
            let who = self.conditions(source, id, &weighing.who)?;
            let against = self.conditions(source, id, &weighing.against)?;
            let (beside, frank): (Vec<_>, Vec<_>) = signs.into_iter().partition(|(_, sign)| sign.beside);
            let mut first_beside = None;
            for (source, sign) in frank.into_iter().chain(beside) {
                let id = sign.id.get_ref();
                let (first, _) = self.add_patterns(source, id, mappings.count, sign.beside, &sign.any)?;
                if sign.beside {
                    first_beside.get_or_insert(first);
                }
                let family = families.keys().position(|family| *family == sign.family).unwrap_or_default();
                let row = format!(
                    "Mapping {{ id: {}, file: {}, line: {}, axis: {axis}, value: {}, treatment: {treatment}, exceptions: {exceptions:?}, idioms: {idioms:?}, with: Part {{ start: 0, length: 0 }}, without: {NO_SET}, apart_from: {NO_SET}, negatable: {}, sign: Some(crate::tables::Sign {{ weighing: {number}, family: {family}, weight: {}, beside: {} }}) }}",
                    self.names.add(id),
                    self.names.add(&source.name),
                    source.line(sign.id.span().start),
                    self.names.add(value),
                    sign.negatable,
                    sign.weight,
                    sign.beside,
                );
                mappings.add(&row);
            }
            let after = self.patterns.len() as u16;
            let _ = writeln!(
                weighings,
                "    Weighing {{ window: {}, total: {}, core: {}, families: {}, who: {who}, against: {against}, against_weight: {}, beside: {:?} }},",
                weighing.window,
                weighing.total,
                weighing.core,
                weighing.families,
                weighing.against_weight,
                (first_beside.unwrap_or(after), after),
            );
        }
        self.line(format!("pub(crate) static WEIGHINGS: &[Weighing] = &[\n{weighings}];"));
        Ok(())
    }
}
