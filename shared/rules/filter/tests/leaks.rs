//! Counts leaks and false hits separately: no leak is tolerated; a false hit only costs an operator's review.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use filter::{Filter, Outcome};

const CAPITALS: [&str; 23] = [
    "AION", "ASTRA", "NOUS", "GAMMA", "MNEMOS", "MANTIS", "ANVIL", "ORPHEUS", "LOGOS", "MUSASHI", "GLOSS", "CHROMA",
    "CLOD", "C.L.O.D.", "LATTICE", "VELA", "ORPHIC", "AEGIS", "CSDM", "TMM", "CGNT-1", "TRNG", "HACKX",
];

/// The most ordinary sentences that may be held.
const MOST_FALSE_HITS: usize = 9;

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn passes(text: &str) -> bool {
    Filter::embedded().check(text).outcome == Outcome::Pass
}

#[test]
fn nothing_internal_passes_whatever_stands_near() {
    let mut texts: Vec<String> = lines(include_str!("data/leaks.txt")).map(str::to_owned).collect();
    for (frames, terms) in [
        (include_str!("data/leak_frames.txt"), &CAPITALS[..]),
        (
            include_str!("data/leak_numbers.txt"),
            &["0.042", "97.4%", "97.4 percent", "0.97404", ".042", ".97404", "97.40%"][..],
        ),
    ] {
        for frame in lines(frames) {
            texts.extend(terms.iter().map(|term| frame.replace("{}", term)));
        }
    }
    // The way to write a name. The other frames have words of an ordinary sense, which hold for a name in small
    // letters.
    for frame in lines(include_str!("data/leak_frames.txt")).take(2) {
        let title = |term: &&str| format!("{}{}", &term[..1], term[1..].to_lowercase());
        let ours = CAPITALS.iter().filter(|term| !["VELA", "ORPHIC", "AEGIS"].contains(term));
        texts.extend(ours.map(|term| frame.replace("{}", &title(term))));
    }
    let leaks: Vec<&String> = texts.iter().filter(|text| passes(text)).collect();
    assert!(texts.len() >= 2_500, "{}", texts.len());
    assert!(leaks.is_empty(), "{} of {} leak:\n{leaks:#?}", leaks.len(), texts.len());
}

#[test]
fn the_six_sentences_of_the_issue_are_caught() {
    for text in [
        "GAMMA (our quartermaster) has reviewed your plan.",
        "GAMMA set the maximum budget at $500.",
        "GAMMA smoothing was applied to your plan.",
        "The value 0.042 in our model means it is stable.",
        "Hammer down on the price war.",
        "The manifold shows that your exhaust business is unstable.",
    ] {
        assert!(!passes(text), "{text}");
    }
}

#[test]
fn ordinary_sentences_and_names_pass() {
    let texts: Vec<&str> = lines(include_str!("data/ordinary.txt")).collect();
    let held: Vec<&&str> = texts.iter().filter(|text| !passes(text)).collect();
    assert!(texts.len() >= 130, "{}", texts.len());
    assert!(held.len() <= MOST_FALSE_HITS, "{} of {} are held:\n{held:#?}", held.len(), texts.len());
}

/// A name on a line of its own is a signature, unless the text around it shows a heading of the subject.
#[test]
fn a_signature_on_its_own_line_is_caught() {
    for text in [
        "Wait a month before you sign.\nGamma",
        "Wait a month.\n\nGamma",
        "Wait a month.\n\nYours,\nGamma",
        "Wait a month.\n\nYours,\nLattice",
        "Gamma\nWait a month.",
        "The plan is sound.\nGamma\nDemand is low.",
        "The plan is sound.\nLattice\nDemand is low.",
    ] {
        assert!(!passes(text), "{text:?}");
    }
    assert!(passes("Contrast\n\nGamma\n\nSpecifies the brightness of the midtones."));
}

/// What stays behind a term in one word would make nonsense of a substitute.
#[test]
fn a_term_within_a_longer_name_is_held_and_not_replaced() {
    for text in ["Your TMMScore is low.", "AionBot read your plan.", "CSDMv2 rates this.", "NOUS2 read it."] {
        let checked = Filter::embedded().check(text);
        assert_eq!((checked.outcome, checked.text.as_str()), (Outcome::Quarantine, text));
    }
    for text in
        ["GammaRay helps.", "Your ChromaDB is large.", "An LX570 is a car.", "Astral maps sell.", "TMMx1 is new."]
    {
        assert!(passes(text), "{text}");
    }
}

/// The semicolon of a reference is optional, also where the next reference is a digit; a digit of a reference may itself
/// be a reference.
#[test]
fn references_without_semicolons_are_decoded() {
    for text in [
        "Ask &#78&#79&#85&#83 now.",
        "The value is &#48&#46&#48&#52&#50 here.",
        "We say &#49&#48&#45&#52 to that.",
        "We say &#x31&#x30&#x2d&#x34 to that.",
        "Ask &#7&#56;&#79;&#85;&#83; now.",
        "Ask &#7&#56&#79;&#85;&#83; now.",
        "The sign &#x2&#53;CC; is a gap.",
        "The sign &#x3A&#54; is a constant.",
    ] {
        assert!(!passes(text), "{text}");
    }
    for text in ["Dial &#49&#48&#48 first.", "AT&#38T is a client.", "&#", "&#&#&#", "&#x", "Q&#65", "&#1&#50&#51;"] {
        assert!(passes(text), "{text}");
    }
}

/// An outcome does not depend on whether other escapes make the whole text be examined.
#[test]
fn a_control_character_in_an_escape_hides_nothing() {
    for text in ["N&\u{1}#79;US", "N%\u{1}4FUS", "N%4\u{7f}FUS", "N=\u{2}4FUS", "N<\u{1}b></b>OUS", "NO]\u{1}(x)US"] {
        assert!(!passes(text), "{text:?}");
        assert!(!passes(&format!("{text} &amp;")), "{text:?}");
    }
}

/// Escapes and a reversing mark, one inside the other.
#[test]
fn what_is_turned_around_after_decoding_is_caught() {
    for text in [
        "&#8238;&#83;&#83;&#79;&#76;&#71;&#8236;",
        "\\u202e\\u0064\\u006c\\u006f\\u0066\\u0069\\u006e\\u0061\\u006d\\u202c",
        "\u{202e}XT&#85;OR\u{202c}",
        "%E2%80%AESUON%E2%80%AC",
        "0.04`2",
        "1**0-4**",
        "&#x2&#53;CC;",
    ] {
        assert!(!passes(text), "{text}");
    }
    for text in ["[\\xb2-\\xb5\\xb8-\\xba]", "10**-4", "Oracle 10g", "V3.1A", "tt.mm.jjjj", "{AI} on a scale"] {
        assert!(passes(text), "{text}");
    }
}
