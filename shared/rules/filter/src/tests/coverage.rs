//! Content filter, verification criterion 1 and GAP-F: the filter catches one instance of every term,
//! generated from the list. Another test shows that this one can fail.

use super::{BLOCKLIST, compiled, list};
use crate::Filter;
use crate::compile::list::BlockList;
use crate::engine::check::check;
use crate::engine::lists::Matching;
use crate::engine::tables::Tables;
use crate::outcome::Outcome;

/// The spellings of `expected` that a compiled list does not catch, each in its own payload and all of them in one.
fn uncaught(expected: &BlockList, tables: &Tables) -> Vec<String> {
    let spellings: Vec<&String> = expected.terms.iter().flat_map(|listed| &listed.spellings).collect();
    let together: Vec<String> = spellings.iter().map(|spelling| format!("Item: {spelling}!")).collect();
    let together = together.join("\n\n");
    let all = check(tables, &together);
    let mut uncaught = Vec::new();
    for spelling in spellings {
        let sentence = format!("Nobody outside should read {spelling} here.");
        let alone = check(tables, &sentence);
        let start = sentence.find(spelling.as_str()).unwrap();
        let end = start + spelling.len();
        // The point of "C.L.O.D." may belong to it or end a sentence.
        let exact = alone.hits.iter().any(|hit| hit.start == start && (hit.end == end || hit.end + 1 == end));
        let place = together.find(&format!(" {spelling}!")).unwrap() + 1;
        let in_all =
            all.hits.iter().any(|hit| hit.start <= place && place + spelling.trim_end_matches('.').len() <= hit.end);
        if alone.outcome == Outcome::Pass || !exact || !in_all {
            uncaught.push(spelling.clone());
        }
    }
    uncaught
}

#[test]
fn every_term_of_the_list_is_caught() {
    let list = list(BLOCKLIST);
    assert_eq!(uncaught(&list, &Filter::embedded().tables), Vec::<String>::new());
}

/// Nobody writes the plural of a word that ends in "s" with another one, or of two letters.
#[test]
fn every_name_in_capitals_is_caught_in_the_plural() {
    let plurals = list(BLOCKLIST).terms.into_iter().map(|listed| listed.term).filter(|term| {
        let is_word = term.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let ends_in_s = term.text.to_uppercase().ends_with('S');
        matches!(term.category, 2 | 3)
            && term.matching == Matching::Word
            && is_word
            && !ends_in_s
            && term.text.len() > 2
    });
    let plurals: Vec<String> = plurals.map(|term| format!("{}s", term.text.to_uppercase())).collect();
    let passes = |plural: &&String| Filter::embedded().check(&format!("Both {plural} agree.")).hits.is_empty();
    assert!(plurals.len() >= 20, "{plurals:?}");
    assert_eq!(plurals.iter().filter(passes).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn a_term_taken_off_the_list_is_missed() {
    // A short list compiles faster and misses a term for the same reason.
    let probes = ["nous", "97.4", "pushed", "sinai-billiard"];
    let mut whole = list(BLOCKLIST);
    whole.terms.retain(|listed| probes.contains(&listed.term.id.as_str()));
    assert_eq!(uncaught(&whole, &compiled(&whole).unwrap()), Vec::<String>::new());
    for missing in probes {
        let mut less = whole.clone();
        less.terms.retain(|listed| listed.term.id != missing);
        let gone: Vec<String> =
            whole.terms.iter().filter(|t| t.term.id == missing).flat_map(|t| t.spellings.clone()).collect();
        let uncaught = uncaught(&whole, &compiled(&less).unwrap());
        assert_eq!(uncaught, gone);
    }
}

#[test]
fn every_row_of_the_specification_is_on_the_list() {
    let list = list(BLOCKLIST);
    let texts: Vec<&str> = list.terms.iter().map(|listed| listed.term.text.as_str()).collect();
    let rows = [
        ["Φ", "Ψ", "Φζ", "Ψχ", "ΔΓ", "ΩQ", "ΛC", "⊕", "⊜", "⚒", "⚡", "⊡", "⊖", "☠", "⊘", "↗"].as_slice(),
        &["Σ.▶", "Σ.▷", "Σ.◇", "Σ.⟲", "◌", "ρ.M", "ρ.T", "Ξ"],
        // These are in no row of the table, but in every specification.
        &["Σ.✓", "Σ.⊠", "α.13"],
        &["HOW ABOUT NO"],
        // "Any callsign": Silent Drop's, and those that the other specifications name.
        &["κ", "ι", "ε", "α", "γ", "μ", "Ω", "∎", "VELA", "ORPHIC", "AEGIS", "HACKX", "GAPX", "ROUTX", "Thread #13"],
        &["AION", "ASTRA", "NOUS", "C.L.O.D.", "CLOD", "GAMMA", "MNEMOS", "MANTIS", "ANVIL", "ORPHEUS", "LOGOS"],
        &["MUSASHI", "GLOSS", "CHROMA", "CGNT-1"],
        &["TMM", "coherence score", "coherence threshold", "manifold", "CSDM", "Chronogeomic", "Chronogeome", "LX"],
        &["LATTICE", "S.O.S. v2", "THE RING", "E8", "Φ = 0.042", "0.042", "97.4%", "Ω = 97.4%", "sinai billiard"],
        &["TRNG", "kill box", "yield mandate", "agency walls", "brain forge", "brain factory", "oracle_toll"],
        &["simons_actuator", "summon_aether", "AETHER_SOUL"],
        // The kernels' names as the gate and its data spell them.
        &["phi_zeta", "psi_chi", "delta_gamma", "omega_q", "lambda_c"],
        // These are like the three above, and in no row of the table.
        &["Orphic Principle", "Build Braid", "Autonomous Node for Verification", "0.97404"],
        &["oracle_email_service", "oracle_email_retry", "oracle_email_dead_letter", "oracle_verdicts", "oracle_log"],
        &["oracle_inbox", "oracle_sos_filter", "oracle_smoke_test.py", "oracle_autoresponded", "send_graph_email"],
        &["check_inbox.py", "x402_announcer", "verdictCache.ts", "VERDICT_PROMPT", "tmm_constants", "tmm_runtime"],
        &["CLAUDE.md", "TASK_QUEUE.md", "SESSIONS.md", "yield_log.md", "ALERT.log", "CREW_CHANNEL", "crew_broadcast"],
        &["SPEC_ORACLE", "SPECIFICATION_AUDIT_LOOP", "SPEC_SOS", "SPEC_BRAIN", "SPEC_SMOKE", "SPEC_LOBSTER"],
        &["SPEC_EMAIL", "SPEC_CORPUS", "PRELAUNCH_CHECKLIST", "PRELAUNCH_DRAFTS", "AETHER_PARAMETERS"],
        &["oracle_email", "test_oracle_e2e", "mock_graph_api", "toll.service"],
        &["10-4", "Copy that", "Hammer down", "Breaker breaker", "Over and out", "Negatory"],
        &["Keep the shiny side up", "Good buddy", "Smokey", "Got your ears on"],
    ];
    for term in rows.concat() {
        assert!(texts.contains(&term), "{term}");
    }
    assert_eq!(rows.concat().len(), texts.len());
}
