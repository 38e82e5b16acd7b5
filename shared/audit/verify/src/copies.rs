//! Copies of the log's records, beside the digests: one object with the lines of all records that a digest names. A
//! reader of millions of records fetches one object an hour instead of one for each record
//! (infra/decisions/audit-table.md).
//!
//! A copy proves nothing. A line counts as the record whose hash in the digest it has.

use crate::signed_digest::{Document, Entry};
use audit::hash::sha256;
use std::collections::{BTreeMap, HashMap};

/// The most bytes in one copy; a digest of 5,000 usual records has about three million. Further records are left out,
/// and readers fetch them from the log.
pub const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The key of the copy. It begins with the day on which the digest was made, which is Athena's partition.
#[must_use]
pub fn copy_key(document: &Document) -> String {
    let day = document.made_at.get(..10).unwrap_or("unknown");
    format!("records/{day}/{:010}.jsonl", document.sequence)
}

/// The lines of the records that the digest names, in its order. `lines` has the bytes of the log's objects by key. An
/// object that is no single line of text, or has another hash than the digest names, is left out.
#[must_use]
pub fn copy(document: &Document, lines: &BTreeMap<String, Vec<u8>>) -> String {
    let mut copy = String::new();
    for entry in &document.entries {
        let line = lines.get(&entry.key).filter(|line| is_line(line) && entry.sha256.as_ref() == Some(&sha256(line)));
        if let Some(line) = line.and_then(|line| std::str::from_utf8(line).ok())
            && copy.len() + line.len() <= MOST_BYTES
        {
            copy.push_str(line);
        }
    }
    copy
}

/// Whether these bytes are one line with its line break.
fn is_line(bytes: &[u8]) -> bool {
    bytes.iter().position(|byte| *byte == b'\n').is_some_and(|end| end + 1 == bytes.len())
}

/// The records in a copy, each with its key, and the keys of the digest's other records, in the digest's order. Lines
/// that the digest does not name are ignored.
#[must_use]
pub fn records<'a>(document: &'a Document, copy: &'a [u8]) -> (Vec<(&'a str, &'a [u8])>, Vec<&'a str>) {
    let by_hash: HashMap<String, &[u8]> =
        copy.split_inclusive(|byte| *byte == b'\n').map(|line| (sha256(line), line)).collect();
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for Entry { key, sha256, .. } in &document.entries {
        match sha256.as_ref().and_then(|hash| by_hash.get(hash)) {
            Some(line) => found.push((key.as_str(), *line)),
            None => others.push(key.as_str()),
        }
    }
    (found, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;

    fn document(objects: &BTreeMap<String, Vec<u8>>) -> Document {
        let entries = objects.iter().map(|(key, bytes)| Entry::of(key, Some(bytes))).collect();
        Document::following(None, "log", Timestamp::from_millis(1_776_349_384_565), entries)
    }

    fn objects(all: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
        all.iter().map(|(key, bytes)| ((*key).to_owned(), bytes.to_vec())).collect()
    }

    #[test]
    fn a_copy_has_each_record_once_and_gives_it_back_under_its_key() {
        let stored = objects(&[("b", b"{\"seq\":2}\n"), ("a", b"{\"seq\":1}\n")]);
        let document = document(&stored);
        assert_eq!(copy_key(&document), "records/2026-04-16/0000000001.jsonl");
        let copy = copy(&document, &stored);
        assert_eq!(copy, "{\"seq\":1}\n{\"seq\":2}\n");
        let (found, others) = records(&document, copy.as_bytes());
        let expected: Vec<(&str, &[u8])> = vec![("a", b"{\"seq\":1}\n"), ("b", b"{\"seq\":2}\n")];
        assert_eq!((found, others), (expected, vec![]));
    }

    #[test]
    fn a_line_that_the_digest_does_not_name_is_no_record() {
        let stored = objects(&[("a", b"{\"seq\":1}\n"), ("b", b"{\"seq\":2}\n")]);
        let document = document(&stored);
        let (found, others) = records(&document, b"{\"seq\":1}\n{\"seq\":3}\n");
        assert_eq!((found.len(), others), (1, vec!["b"]));
        assert_eq!(copy(&document, &objects(&[("a", b"{\"seq\":9}\n")])), "", "the object is another one by now");
    }

    #[test]
    fn what_is_no_single_line_or_does_not_fit_is_left_to_the_log() {
        let long = [vec![b'x'; MOST_BYTES - 5], b"\n".to_vec()].concat();
        let stored = objects(&[
            ("a", b"no line break"),
            ("b", b"two\nlines\n"),
            ("c", b"\xff\n"),
            ("d", &long),
            ("e", b"{\"seq\":5}\n"),
            ("f", b"{}\n"),
        ]);
        let document = document(&stored);
        let copy = copy(&document, &stored);
        let (found, others) = records(&document, copy.as_bytes());
        assert_eq!(found.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["d", "f"]);
        assert_eq!(others, ["a", "b", "c", "e"]);
    }
}
