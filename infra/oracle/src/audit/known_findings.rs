//! Findings that operators have investigated. A file lists them, and they are reported separately from new ones.

use std::{collections::BTreeSet, path::Path};

use audit::hash::{sha256, sha256_raw};
use audit_verify::{
    Verification,
    stream::{Damage, Finding, stream_of},
};
use domain::ports::AuditObjects;
use serde::{Deserialize, Serialize};

use crate::command::CommandError;

/// A finding with the hash of its stream at that time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ListedFinding {
    pub(crate) key: String,
    pub(crate) damage: Damage,
    /// SHA-256 over all objects of its stream. A verification names only the first bad record of a stream, so any later
    /// change of the stream must make this finding a new one.
    hash: String,
}

/// The result of a verification, with known findings listed separately.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    #[serde(flatten)]
    pub(crate) verification: Verification,
    pub(crate) findings: Vec<ListedFinding>,
    pub(crate) known: Vec<ListedFinding>,
}

/// Reads the file: one finding per line, as `verify --json` prints them.
pub(crate) fn read(file: Option<&Path>) -> Result<BTreeSet<ListedFinding>, CommandError> {
    let Some(file) = file else { return Ok(BTreeSet::new()) };
    let failed =
        |what: String| move |error: std::io::Error| CommandError::failed(&format!("{}{what}", file.display()), error);
    let text = std::fs::read_to_string(file).map_err(|error| failed(" cannot be read".to_owned())(error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines.map(|(index, line)| {
        serde_json::from_str(line).map_err(|error| failed(format!(", line {}: no finding", index + 1))(error.into()))
    });
    parsed.collect()
}

/// Separates known findings from new ones. A damaged digest never counts as known, because no digest after it is
/// verified.
pub(crate) async fn split_known(
    objects: &dyn AuditObjects,
    mut verification: Verification,
    known: &BTreeSet<ListedFinding>,
) -> Result<Outcome, CommandError> {
    let of_digests = verification.digests.as_ref().map_or_else(Vec::new, |report| report.findings.clone());
    let (mut findings, mut recognised) = (Vec::new(), Vec::new());
    for Finding { key, damage } in std::mem::take(&mut verification.findings) {
        let is_digest = of_digests.iter().any(|of_digest| of_digest.key == key);
        let hash = hash(objects, stream_of(&key), &key).await?;
        let finding = ListedFinding { key, damage, hash };
        if !is_digest && known.contains(&finding) { recognised.push(finding) } else { findings.push(finding) }
    }
    Ok(Outcome { verification, findings, known: recognised })
}

async fn hash(objects: &dyn AuditObjects, stream: &str, key: &str) -> Result<String, CommandError> {
    let keys = if stream == key {
        vec![key.to_owned()]
    } else {
        let listed = objects.listed(&format!("{stream}/")).await.map_err(CommandError::unreadable_log)?;
        listed.into_iter().map(|object| object.key).collect()
    };
    let all = objects.objects(keys).await.map_err(CommandError::unreadable_log)?;
    let each = all.iter().flat_map(|(key, bytes)| [sha256_raw(key.as_bytes()), sha256_raw(bytes)]);
    Ok(sha256(&each.flatten().collect::<Vec<u8>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit_verify::digests::DigestReport;
    use testkit::World;

    const KEY: &str = "2026-04-16/session/cs_test_1/000003.json";

    fn outcome(world: &World, findings: Vec<Finding>, digests: Vec<Finding>, known: &[ListedFinding]) -> Outcome {
        let digests = Some(DigestReport { findings: digests, ..DigestReport::default() });
        let verification = Verification { findings, digests, ..Verification::default() };
        let known = known.iter().cloned().collect();
        crate::command::wait(split_known(world, verification, &known)).unwrap()
    }

    #[test]
    fn what_is_known_is_known_until_its_stream_changes() {
        let world = World::default();
        world.state().log.extend([(KEY.to_owned(), "x".to_owned()), ("stray".to_owned(), "y".to_owned())]);
        let edited = Finding { key: KEY.to_owned(), damage: Damage::Edited };
        let stray = Finding { key: "stray".to_owned(), damage: Damage::Foreign };
        let findings = || vec![edited.clone(), stray.clone()];
        let first = outcome(&world, findings(), Vec::new(), &[]);
        assert_eq!((first.findings.len(), first.known.len()), (2, 0));
        // Printed findings can be read back.
        let lines: Vec<String> = first.findings.iter().map(|finding| serde_json::to_string(finding).unwrap()).collect();
        let file = std::env::temp_dir().join(format!("known-findings-{}", std::process::id()));
        std::fs::write(&file, format!("{}\n\n{}\n", lines[0], lines[1])).unwrap();
        let known: Vec<ListedFinding> = read(Some(&file)).unwrap().into_iter().collect();
        std::fs::write(&file, "{}").unwrap();
        let refused = read(Some(&file)).unwrap_err().to_string();
        assert!(refused.ends_with(", line 1: no finding"), "{refused}");
        std::fs::remove_file(&file).unwrap();
        assert!(read(Some(&file)).is_err());
        let again = outcome(&world, findings(), Vec::new(), &known);
        assert_eq!((again.findings.len(), again.known.len()), (0, 2));
        // Another damage of the same record, and another record of the same stream.
        let other = Finding { damage: Damage::Moved, ..edited.clone() };
        assert_eq!(outcome(&world, vec![other], Vec::new(), &known).findings.len(), 1);
        world.state().log.insert(KEY.replace('3', "4"), "z".to_owned());
        let later = outcome(&world, findings(), Vec::new(), &known);
        assert_eq!((later.findings[0].key.as_str(), later.known[0].key.as_str()), (KEY, "stray"));
    }

    #[test]
    fn what_is_wrong_with_a_digest_is_never_known() {
        let digest = Finding { key: "digests/0000000003.json".to_owned(), damage: Damage::Edited };
        let world = World::default();
        let listed = outcome(&world, vec![digest.clone()], vec![digest.clone()], &[]).findings;
        let again = outcome(&world, vec![digest.clone()], vec![digest], &listed);
        assert_eq!((again.findings.len(), again.known.len()), (1, 0));
    }
}
