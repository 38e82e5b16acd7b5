//! Disguises: each changes a term into a form that a reader still recognises, or returns `None` if the disguise does
//! not apply to the term.

/// A disguise with its name.
pub(crate) struct Transform {
    /// A description of the change.
    pub(crate) name: &'static str,
    /// Applies it. `None` if it would change nothing or leave nothing to recognise.
    pub(crate) apply: fn(&str) -> Option<String>,
    /// Whether a further transform would make the term unrecognisable.
    pub(crate) comes_last: bool,
}

fn changed(term: &str, new: String) -> Option<String> {
    (new != term).then_some(new)
}

fn map(term: &str, f: impl Fn(char) -> Option<char>) -> Option<String> {
    changed(term, term.chars().map(|c| f(c).unwrap_or(c)).collect())
}

fn each(term: &str, f: impl Fn(char) -> Option<String>) -> Option<String> {
    changed(term, term.chars().map(|c| f(c).unwrap_or_else(|| c.to_string())).collect())
}

fn from_lists(term: &str, from: &str, to: &str) -> Option<String> {
    map(term, |c| from.chars().zip(to.chars()).find(|(f, _)| *f == c).map(|(_, t)| t))
}

fn offset(term: &str, upper: u32, lower: u32, digits: Option<u32>) -> Option<String> {
    map(term, |c| match c {
        'A'..='Z' => char::from_u32(upper + c as u32 - 'A' as u32),
        'a'..='z' => char::from_u32(lower + c as u32 - 'a' as u32),
        '0'..='9' => digits.and_then(|d| char::from_u32(d + c as u32 - '0' as u32)),
        _ => None,
    })
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric()
}

/// Whether a term has at least two letters: numbers keep their separators, and a single symbol has no inside.
fn has_letters(term: &str) -> bool {
    term.chars().filter(char::is_ascii_alphabetic).count() >= 2
}

fn between(term: &str, separator: &str) -> Option<String> {
    let chars: Vec<char> = term.chars().collect();
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        out.push(*c);
        if let Some(next) = chars.get(i + 1)
            && is_letter(*c)
            && is_letter(*next)
        {
            out.push_str(separator);
        }
    }
    (has_letters(term)).then_some(out).and_then(|out| changed(term, out))
}

/// Puts invisible characters between the characters; they may be anywhere, in numbers too.
fn hidden(term: &str, what: &str) -> Option<String> {
    let mut out = String::new();
    let count = term.chars().count();
    for (i, c) in term.chars().enumerate() {
        out.push(c);
        if i + 1 < count {
            out.push_str(what);
        }
    }
    changed(term, out)
}

fn after_each_letter(term: &str, what: &str) -> Option<String> {
    each(term, |c| is_letter(c).then(|| format!("{c}{what}")))
}

fn middle(term: &str, what: &str) -> Option<String> {
    let letters: Vec<usize> = term.char_indices().filter(|(_, c)| c.is_ascii_alphabetic()).map(|(i, _)| i).collect();
    if letters.len() < 4 {
        return None;
    }
    let at = letters[letters.len() / 2];
    let before = term[..at].chars().next_back()?;
    is_letter(before).then(|| format!("{}{what}{}", &term[..at], &term[at..]))
}

fn leet(term: &str, from: &str, to: &str) -> Option<String> {
    let letters = term.chars().filter(char::is_ascii_alphabetic).count();
    let out = from_lists(&term.to_lowercase(), from, to)?;
    // With too few letters left, or with digits of its own, the term is not recognisable.
    let left = out.chars().filter(char::is_ascii_alphabetic).count();
    if letters < 3 || left == 0 || term.chars().any(|c| c.is_ascii_digit()) {
        return None;
    }
    let upper = term.chars().any(char::is_uppercase) && !term.chars().any(char::is_lowercase);
    Some(if upper { out.to_uppercase() } else { out })
}

fn doubled(term: &str, which: impl Fn(usize) -> bool) -> Option<String> {
    if term.chars().filter(char::is_ascii_alphabetic).count() < 3 {
        return None;
    }
    let mut out = String::new();
    for (i, c) in term.chars().enumerate() {
        out.push(c);
        if c.is_ascii_alphabetic() && which(i) {
            out.push(c);
        }
    }
    changed(term, out)
}

/// A reader recognises "7MM", but "7mm" is a measure.
fn is_mostly_digits(term: &str) -> bool {
    let letters = term.chars().filter(char::is_ascii_alphabetic).count();
    let digits = term.chars().filter(char::is_ascii_digit).count();
    letters < digits || (digits > 0 && letters + digits == 3)
}

fn swap_case(term: &str) -> Option<String> {
    if is_mostly_digits(term) {
        return None;
    }
    map(term, |c| Some(if c.is_ascii_uppercase() { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() }))
}

fn alternate(term: &str) -> Option<String> {
    if is_mostly_digits(term) {
        return None;
    }
    let new =
        term.chars().enumerate().map(|(i, c)| if i % 2 == 0 { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() });
    changed(term, new.collect())
}

fn utf16_escapes(term: &str) -> String {
    term.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn bytes(term: &str, sign: char) -> String {
    term.bytes().map(|b| format!("{sign}{b:02X}")).collect()
}

macro_rules! transform {
    ($name:literal, $apply:expr) => {
        Transform { name: $name, apply: $apply, comes_last: false }
    };
    ($name:literal, last, $apply:expr) => {
        Transform { name: $name, apply: $apply, comes_last: true }
    };
}

/// All transforms.
pub(crate) const TRANSFORMS: &[Transform] = &[
    transform!("upper case", |t| changed(t, t.to_uppercase())),
    transform!("swapped case", |t| swap_case(t).filter(|_| t.chars().any(char::is_uppercase))),
    transform!("alternating case", |t| alternate(t).filter(|_| has_letters(t) && t.chars().count() > 2)),
    transform!("full width", |t| map(t, |c| if ('!'..='~').contains(&c) {
        char::from_u32(c as u32 + 0xfee0)
    } else {
        None
    })),
    transform!("mathematical bold", |t| offset(t, 0x1d400, 0x1d41a, Some(0x1d7ce))),
    transform!("mathematical bold italic", |t| offset(t, 0x1d468, 0x1d482, None)),
    transform!("mathematical sans-serif", |t| offset(t, 0x1d5a0, 0x1d5ba, Some(0x1d7e2))),
    transform!("mathematical monospace", |t| offset(t, 0x1d670, 0x1d68a, Some(0x1d7f6))),
    transform!("bold fraktur", |t| offset(t, 0x1d56c, 0x1d586, None)),
    transform!("double-struck", |t| offset(t, 0x1d538, 0x1d552, Some(0x1d7d8)).map(|s| from_lists(
        &s,
        "\u{1d53a}\u{1d53f}\u{1d545}\u{1d547}\u{1d548}\u{1d549}\u{1d551}",
        "ℂℍℕℙℚℝℤ"
    )
    .unwrap_or(s))),
    transform!("bold script", |t| offset(t, 0x1d4d0, 0x1d4ea, None)),
    transform!("circled", |t| offset(t, 0x24b6, 0x24d0, None)),
    transform!("negative circled", |t| offset(&t.to_uppercase(), 0x1f150, 0x1f150, None)),
    transform!("squared", |t| offset(&t.to_uppercase(), 0x1f130, 0x1f130, None)),
    transform!("negative squared", |t| offset(&t.to_uppercase(), 0x1f170, 0x1f170, None)),
    transform!("regional indicators", |t| offset(&t.to_uppercase(), 0x1f1e6, 0x1f1e6, None)),
    transform!("parenthesised", |t| offset(&t.to_lowercase(), 0x249c, 0x249c, None)),
    transform!("small capitals", |t| from_lists(
        &t.to_lowercase(),
        "abcdefghijklmnopqrstuvwyz",
        "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ"
    )),
    transform!("superscripts", |t| from_lists(
        &t.to_lowercase(),
        "abcdefghijklmnoprstuvwxyz0123456789",
        "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁰¹²³⁴⁵⁶⁷⁸⁹"
    )),
    transform!("subscript digits", |t| from_lists(t, "0123456789", "₀₁₂₃₄₅₆₇₈₉")),
    transform!("Arabic-Indic digits", |t| from_lists(t, "0123456789", "٠١٢٣٤٥٦٧٨٩")),
    transform!("Cyrillic", |t| from_lists(t, "aceiopsxyABCEHIKMOPSTXj", "асеіорѕхуАВСЕНІКМОРЅТХј")),
    transform!("Greek", last, |t| from_lists(t, "ABEZHIKMNOPTYXaeiknoptuvxy", "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαειкηορτυνχγ")),
    transform!("Cherokee", |t| from_lists(&t.to_uppercase(), "DRTAJEWMHYGZBLSVCPKI", "ᎠᎡᎢᎪᎫᎬᎳᎷᎻᎩᏀᏃᏴᏞᏚᏙᏟᏢᏦᏆ")),
    transform!("accents", |t| from_lists(t, "aceinouyACEINOUYs", "áçéíñöüýÁÇÉÍÑÖÜÝš")),
    transform!("a capital I for a small l", last, |t| t
        .contains('l')
        .then(|| t.replace('l', "I"))
        .filter(|_| has_letters(t) && t.chars().skip(1).all(|c| !c.is_uppercase()))),
    transform!("rn for m", |t| (t.contains('m') && !t.contains('M')).then(|| t.replace('m', "rn"))),
    transform!("combining dots", |t| after_each_letter(t, "\u{308}")),
    transform!("combining strokes", |t| after_each_letter(t, "\u{336}")),
    transform!("stacked marks", |t| after_each_letter(t, "\u{301}\u{323}\u{35c}")),
    transform!("zero-width spaces", |t| hidden(t, "\u{200b}")),
    transform!("zero-width joiners", |t| hidden(t, "\u{200d}")),
    transform!("word joiners", |t| hidden(t, "\u{2060}")),
    transform!("soft hyphens", |t| hidden(t, "\u{ad}")),
    transform!("byte order marks", |t| hidden(t, "\u{feff}")),
    transform!("variation selectors", |t| hidden(t, "\u{fe0f}")),
    transform!("tag characters", |t| hidden(t, "\u{e0061}\u{e007f}")),
    transform!("bidi controls", |t| hidden(t, "\u{202e}\u{202c}")),
    transform!("bidi isolates around", |t| Some(format!("\u{2067}{t}\u{2069}"))),
    transform!("Hangul fillers", |t| hidden(t, "\u{3164}")),
    transform!("spaces", |t| between(t, " ").filter(|_| t.len() > 2)),
    transform!("no-break spaces", |t| between(t, "\u{a0}").filter(|_| t.len() > 2)),
    transform!("dots", |t| between(t, ".")),
    transform!("middle dots", |t| between(t, "·")),
    transform!("hyphens", |t| between(t, "-")),
    transform!("underscores", |t| between(t, "_")),
    transform!("slashes", |t| between(t, "/")),
    transform!("bars", last, |t| between(t, "|")),
    transform!("stars", |t| between(t, "*")),
    transform!("emoji", |t| between(t, "🔥")),
    transform!("newlines", |t| between(t, "\n").filter(|_| t.len() > 2)),
    transform!("a line wrap", |t| middle(t, "\n")),
    transform!("a hyphenated line wrap", |t| middle(t, "-\n")),
    transform!("leet", |t| leet(t, "aeiost", "431057")),
    transform!("signs", |t| leet(t, "asi", "@$!")),
    transform!("every letter doubled", last, |t| doubled(t, |_| true)),
    transform!("one letter doubled", last, |t| doubled(t, |i| i == 1)),
    transform!("decimal entities", last, |t| Some(t.chars().map(|c| format!("&#{};", c as u32)).collect())),
    transform!("hexadecimal entities", last, |t| Some(t.chars().map(|c| format!("&#x{:X};", c as u32)).collect())),
    transform!("tags between", last, |t| hidden(t, "<i></i>")),
    transform!("a comment between", last, |t| hidden(t, "<!-- x -->")),
    transform!("\\u escapes", last, |t| Some(utf16_escapes(t))),
    transform!("percent escapes", last, |t| Some(bytes(t, '%'))),
    transform!("quoted-printable", last, |t| Some(bytes(t, '='))),
    transform!("quoted-printable soft breaks", last, |t| hidden(t, "=\n")),
    transform!("Markdown emphasis inside", |t| middle(t, "**")),
    transform!("Markdown emphasis on each letter", |t| each(t, |c| c
        .is_ascii_alphabetic()
        .then(|| format!("**{c}**")))
    .filter(|_| has_letters(t))),
    transform!("a Markdown link inside", last, |t| {
        let at = t.char_indices().nth(2)?.0;
        has_letters(t).then(|| format!("[{}](https://example.com/a){}", &t[..at], &t[at..]))
    }),
    transform!("code marks", |t| Some(format!("`{t}`"))),
    transform!("twice escaped entities", last, |t| Some(t.chars().map(|c| format!("&amp;#{};", c as u32)).collect())),
];
