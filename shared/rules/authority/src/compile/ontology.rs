//! The schema of a domain's file, and of a file with a part of a domain's words and mappings.
//! The file has more than 300 lines because it has one structure for each kind of entry in the files, and one field for
//! each key of an entry.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::{DataError, Source};

pub(crate) type Text = Spanned<String>;

/// One domain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ontology {
    pub(crate) domain: String,
    pub(crate) evaluator: String,
    #[serde(default)]
    pub(crate) notice: String,
    #[serde(default)]
    pub(crate) forbidden: Vec<String>,
    #[serde(default)]
    pub(crate) required: Vec<String>,
    /// The quantities that a narrative answer may not state.
    #[serde(default)]
    pub(crate) unstated: Vec<Text>,
    #[serde(default)]
    pub(crate) suggested_actions: Vec<String>,
    #[serde(default)]
    pub(crate) reformulation: String,
    /// What happens if an oracle does not answer; the questions are blocked if it is not stated.
    pub(crate) on_timeout: Option<Text>,
    #[serde(default)]
    pub(crate) human_lock: HumanLock,
    #[serde(default)]
    pub(crate) spellings: Spellings,
    /// The state for each action of this domain's high-stakes rules.
    #[serde(default)]
    pub(crate) action_states: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) concepts: BTreeMap<String, Vec<Text>>,
    /// Word endings, by the concept of an unknown word with that ending.
    #[serde(default)]
    pub(crate) suffixes: BTreeMap<String, Vec<Text>>,
    #[serde(default)]
    pub(crate) axis: Vec<Axis>,
    #[serde(default)]
    pub(crate) mapping: Vec<Mapping>,
    #[serde(default)]
    pub(crate) idiom: Vec<Idiom>,
    #[serde(default)]
    pub(crate) fitted: Vec<Fitted>,
    #[serde(default)]
    pub(crate) treatment: Vec<Treatment>,
    #[serde(default)]
    pub(crate) high_stakes: Vec<HighStakes>,
    #[serde(default)]
    pub(crate) oracle: Vec<Oracle>,
    #[serde(default)]
    pub(crate) resource: Vec<Resource>,
    /// Words that never satisfy an axis ("healthy", "standard").
    #[serde(default)]
    pub(crate) negative_constraints: Vec<String>,
}

/// A part of a domain in a separate file, which keeps every file short.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// The domain whose axes the mappings set.
    pub(crate) part_of: Text,
    #[serde(default)]
    pub(crate) concepts: BTreeMap<String, Vec<Text>>,
    #[serde(default)]
    pub(crate) mapping: Vec<Mapping>,
    #[serde(default)]
    pub(crate) idiom: Vec<Idiom>,
    #[serde(default)]
    pub(crate) guidance: Vec<Guidance>,
}

/// Misspellings.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spellings {
    /// Words for which every typing error counts.
    #[serde(default)]
    pub(crate) slips: Vec<Text>,
    /// `misspelt=word`.
    #[serde(default)]
    pub(crate) also: Vec<Text>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HumanLock {
    #[serde(default)]
    pub(crate) two_persons: bool,
    /// Roles that may approve, by request.
    #[serde(default)]
    pub(crate) approval_matrix: BTreeMap<String, Vec<Text>>,
    /// Registers for looking up a credential.
    #[serde(default)]
    pub(crate) verification_sources: Vec<String>,
    #[serde(default)]
    pub(crate) never: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axis {
    pub(crate) key: Text,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) unit: String,
    #[serde(default)]
    pub(crate) values: Vec<String>,
    #[serde(default)]
    pub(crate) prompt: String,
    #[serde(default)]
    pub(crate) oracle_only: bool,
    /// No role may approve a text that lacks it where it is required.
    #[serde(default)]
    pub(crate) unwaivable: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mapping {
    pub(crate) id: Text,
    /// `axis=value`; the value `#` is the quoted text itself.
    pub(crate) sets: String,
    pub(crate) any: Vec<Text>,
    #[serde(default)]
    pub(crate) except: Vec<Text>,
    #[serde(default)]
    pub(crate) with: Vec<Text>,
    #[serde(default)]
    pub(crate) without: Vec<Text>,
    #[serde(default)]
    pub(crate) apart_from: Vec<Text>,
    #[serde(default)]
    pub(crate) negatable: bool,
    /// The text implies the value and does not state it.
    #[serde(default)]
    pub(crate) inferred: bool,
    /// A match counts only if the fitted weights around it confirm it: for words that are harmless in many texts.
    #[serde(default)]
    pub(crate) needs_weights: bool,
}

/// Idioms: exceptions that all mappings of a value share.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Idiom {
    pub(crate) id: Text,
    /// The values, in the form of the mappings: `axis=value`.
    pub(crate) of: Vec<Text>,
    pub(crate) any: Vec<Text>,
}

/// Sets a request if the fitted weights of some sentences reach a total.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fitted {
    pub(crate) id: Text,
    /// `request=value`, as of a mapping.
    pub(crate) sets: String,
    /// The column of the table of weights that must reach the total.
    pub(crate) detects: String,
    /// The column of its kind.
    pub(crate) kind: String,
    /// The minimum sum of weights, in sixteenths of a weight of the fit.
    pub(crate) total: u16,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Treatment {
    pub(crate) request: Text,
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) requires: Vec<String>,
    #[serde(default = "requires_specification")]
    pub(crate) missing_state: String,
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) education: bool,
    #[serde(default)]
    pub(crate) locked: bool,
    #[serde(default = "approvable")]
    pub(crate) approvable: bool,
    #[serde(default)]
    pub(crate) resources: Vec<String>,
    #[serde(default)]
    pub(crate) conditional: Vec<Conditional>,
}

fn requires_specification() -> String {
    "REQUIRES_SPECIFICATION".to_owned()
}

const fn approvable() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conditional {
    #[serde(rename = "if")]
    pub(crate) condition: String,
    pub(crate) then: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HighStakes {
    pub(crate) axis: Text,
    pub(crate) operator: String,
    /// `axis=value`: the rule is only for texts that state it.
    #[serde(rename = "if")]
    pub(crate) condition: Option<String>,
    #[serde(default)]
    pub(crate) value: Vec<String>,
    #[serde(default)]
    pub(crate) number: f64,
    pub(crate) action: String,
    pub(crate) rationale: String,
    pub(crate) reason: String,
    /// The roles that may approve what it blocks, in addition to those for the request.
    #[serde(default)]
    pub(crate) approval: Vec<Text>,
    /// The requests that it is about; one of another domain is `domain.request`.
    #[serde(default)]
    pub(crate) requests: Vec<String>,
    #[serde(default)]
    pub(crate) locked: bool,
    #[serde(default)]
    pub(crate) resources: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Oracle {
    pub(crate) name: String,
    pub(crate) tier: Text,
    pub(crate) recency_seconds: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resource {
    pub(crate) group: Text,
    pub(crate) country: String,
    pub(crate) name: String,
    pub(crate) contact: String,
}

/// The texts for one reason of a domain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guidance {
    pub(crate) reason: Text,
    /// `axis=value`: the guidance is only for texts that state it; empty for all texts with the reason.
    #[serde(default)]
    pub(crate) with: String,
    /// Only for texts that state it with one of these words.
    #[serde(default)]
    pub(crate) quotes: Vec<String>,
    /// The user prompt asks for exactly these axes.
    #[serde(default)]
    pub(crate) missing: Vec<String>,
    /// A warning, a right or an urgent step for the customer, without placeholders: a sale stores it.
    #[serde(default)]
    pub(crate) advice: String,
    #[serde(default)]
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) user_prompt: String,
    /// The immediate response, by country.
    #[serde(default)]
    pub(crate) display: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) forbidden: Vec<String>,
    #[serde(default)]
    pub(crate) required: Vec<String>,
    #[serde(default)]
    pub(crate) immediate_actions: Vec<String>,
    #[serde(default)]
    pub(crate) follow_up_actions: Vec<String>,
    #[serde(default)]
    pub(crate) suggested_actions: Vec<String>,
    #[serde(default)]
    pub(crate) reformulation: String,
    #[serde(default)]
    pub(crate) escalation_contacts: Vec<String>,
    #[serde(default)]
    pub(crate) escalation_targets: Vec<String>,
    #[serde(default)]
    pub(crate) triggered_by: String,
    #[serde(default)]
    pub(crate) block_reason: String,
    #[serde(default)]
    pub(crate) rationale: String,
}

/// All files of the data.
pub(crate) struct Files {
    pub(crate) domains: Vec<(Source, Ontology)>,
    /// The parts, with their domain numbers.
    parts: Vec<(usize, Source, Part)>,
    /// The table of fitted weights.
    pub(crate) weights: Option<Source>,
}

impl Files {
    /// Parses every file. A file with a `part_of` key is a part of a domain, a `.tsv` file is the table of fitted
    /// weights.
    pub(crate) fn parse(sources: Vec<Source>) -> Result<Self, DataError> {
        let (weights, sources): (Vec<_>, Vec<_>) =
            sources.into_iter().partition(|source| source.name.ends_with(".tsv"));
        let is_part = |source: &Source| source.text.lines().any(|line| line.starts_with("part_of"));
        let (parts, domains): (Vec<_>, Vec<_>) = sources.into_iter().partition(is_part);
        let domains = domains
            .into_iter()
            .map(|source| parse(&source).map(|ontology: Ontology| (source, ontology)))
            .collect::<Result<Vec<_>, _>>()?;
        let part = |source: Source| {
            let part: Part = parse(&source)?;
            let name = part.part_of.get_ref();
            let found = domains.iter().position(|(_, ontology)| ontology.domain == *name);
            let Some(domain) = found else {
                return Err(source.error(part.part_of.span().start, name, "there is no domain of this name"));
            };
            Ok((domain, source, part))
        };
        let parts = parts.into_iter().map(part).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { domains, parts, weights: weights.into_iter().next() })
    }

    /// The concepts of all files.
    pub(crate) fn concepts(&self) -> impl Iterator<Item = (&Source, &BTreeMap<String, Vec<Text>>)> {
        let domains = self.domains.iter().map(|(source, file)| (source, &file.concepts));
        domains.chain(self.parts.iter().map(|(_, source, part)| (source, &part.concepts)))
    }

    /// The mappings of all files, with their domain numbers and ontologies.
    pub(crate) fn mappings(&self) -> impl Iterator<Item = (usize, &Source, &Ontology, &Mapping)> {
        let domains = self.domains.iter().enumerate().flat_map(|(domain, (source, file))| {
            file.mapping.iter().map(move |mapping| (domain, source, file, mapping))
        });
        domains.chain(self.parts.iter().flat_map(|(domain, source, part)| {
            let ontology = &self.domains[*domain].1;
            part.mapping.iter().map(move |mapping| (*domain, source, ontology, mapping))
        }))
    }

    /// The guidance of all files, with its domain number.
    pub(crate) fn guidance(&self) -> impl Iterator<Item = (usize, &Source, &Guidance)> {
        let parts = self.parts.iter();
        parts.flat_map(|(domain, source, part)| part.guidance.iter().map(move |guidance| (*domain, source, guidance)))
    }

    /// The idioms of all files, with their domain numbers.
    pub(crate) fn idioms(&self) -> impl Iterator<Item = (usize, &Source, &Idiom)> {
        let domains = self.domains.iter().enumerate();
        let domains =
            domains.flat_map(|(domain, (source, file))| file.idiom.iter().map(move |idiom| (domain, source, idiom)));
        domains.chain(
            self.parts
                .iter()
                .flat_map(|(domain, source, part)| part.idiom.iter().map(move |idiom| (*domain, source, idiom))),
        )
    }
}

fn parse<T: serde::de::DeserializeOwned>(source: &Source) -> Result<T, DataError> {
    toml::from_str(&source.text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        source.error(offset, "form of the file", error.message())
    })
}
