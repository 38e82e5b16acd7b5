//! Refuses data that is well formed and would not work: values that nothing sets, countries without contacts, rows of the
//! approval matrix that apply to nothing.

use std::collections::BTreeSet;

use super::ontology::{Files, Ontology, Resource, Text};
use super::{DataError, Source};

/// Refuses a value that neither a mapping nor fitted weights set: its rules would never apply.
pub(super) fn check_values(files: &Files) -> Result<(), DataError> {
    let fitted =
        files.domains.iter().enumerate().flat_map(|(domain, (_, ontology))| {
            ontology.fitted.iter().map(move |fitted| (domain, fitted.sets.as_str()))
        });
    let mapped = files.mappings().map(|(domain, _, _, mapping)| (domain, mapping.sets.as_str()));
    let set: BTreeSet<(usize, &str)> = mapped.chain(fitted).collect();
    for (domain, (source, ontology)) in files.domains.iter().enumerate() {
        for axis in ontology.axis.iter().filter(|axis| !axis.oracle_only) {
            let (key, offset) = (axis.key.get_ref(), axis.key.span().start);
            if let Some(value) = axis.values.iter().find(|value| !set.contains(&(domain, &*format!("{key}={value}")))) {
                return Err(source.error(offset, key, format!("no mapping sets the value {value:?}")));
            }
        }
    }
    Ok(())
}

/// The country of a contact that helps everywhere.
const EVERY_COUNTRY: &str = "*";

/// The names of the countries.
const COUNTRIES: [(&str, &str); 5] =
    [("AU", "Australia"), ("CA", "Canada"), ("FR", "France"), ("GB", "United Kingdom"), ("US", "United States")];

/// The name of a resource with its country, which the customer of another country must not take for their own.
pub(super) fn named(source: &Source, resource: &Resource) -> Result<String, DataError> {
    let country = resource.country.as_str();
    if country == EVERY_COUNTRY {
        return Ok(resource.name.clone());
    }
    match COUNTRIES.iter().find(|(code, _)| *code == country) {
        Some((_, name)) => Ok(format!("{} ({name})", resource.name)),
        None => {
            let group = &resource.group;
            Err(source.error(group.span().start, group.get_ref(), format!("the country {country:?} has no name")))
        }
    }
}

/// Refuses a group of resources without a contact for one of the countries: its customers would get no contact.
pub(super) fn check_countries(files: &[(Source, Ontology)]) -> Result<(), DataError> {
    let all = || files.iter().flat_map(|(source, file)| file.resource.iter().map(move |resource| (source, resource)));
    let countries: BTreeSet<&str> = all().map(|(_, resource)| resource.country.as_str()).collect();
    for (source, resource) in all() {
        let group = resource.group.get_ref();
        let has_contact = |country: &str| {
            let mut of_group = all().filter(|(_, other)| other.group.get_ref() == group);
            of_group.any(|(_, other)| [country, EVERY_COUNTRY].contains(&other.country.as_str()))
        };
        let missing = countries.iter().find(|country| **country != EVERY_COUNTRY && !has_contact(country));
        if let Some(country) = missing {
            let problem = format!("the group has no contact for {country}");
            return Err(source.error(resource.group.span().start, group, problem));
        }
    }
    Ok(())
}

/// Refuses a row of the approval matrix for a request that the domain does not treat, which would only take roles from
/// the others, and roles of a high-stakes rule that no row names.
pub(super) fn check_approvals(source: &Source, ontology: &Ontology) -> Result<(), DataError> {
    let matrix = &ontology.human_lock.approval_matrix;
    for (request, roles) in matrix {
        if !ontology.treatment.iter().any(|treatment| treatment.request.get_ref() == request) {
            let offset = roles.first().map_or(0, |role| role.span().start);
            return Err(source.error(offset, request, "no treatment answers this request of the approval matrix"));
        }
    }
    let is_known = |role: &Text| matrix.values().flatten().any(|known| known.get_ref() == role.get_ref());
    match ontology.high_stakes.iter().flat_map(|rule| &rule.approval).find(|role| !is_known(role)) {
        Some(role) => {
            Err(source.error(role.span().start, role.get_ref(), "no row of the approval matrix has this role"))
        }
        None => Ok(()),
    }
}
