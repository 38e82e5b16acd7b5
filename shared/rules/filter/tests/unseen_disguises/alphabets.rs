//! Letters that are read as other letters, as style generators and confusable tables have them.

/// Two strings of the same length: what is written, and what replaces it.
pub(crate) struct Alphabet(&'static str, &'static str);

impl Alphabet {
    pub(crate) fn look_up(&self, letter: char) -> Option<String> {
        let at = self.0.chars().position(|known| known == letter)?;
        self.1.chars().nth(at).map(String::from)
    }

    /// Alphabets that have one case only serve both.
    pub(crate) fn look_up_any_case(&self, letter: char) -> Option<String> {
        self.look_up(letter)
            .or_else(|| self.look_up(letter.to_ascii_lowercase()))
            .or_else(|| self.look_up(letter.to_ascii_uppercase()))
    }
}

pub(crate) const CYRILLIC: Alphabet =
    Alphabet("aAbBcCdeEgHhiIjJKkMmNnoOpPrsSTtuvxXyYw", "аАЬВсСԁеЕԍНһіІјЈКкМмΝпоОрРгѕЅТтцѵхХуУԝ");
pub(crate) const GREEK: Alphabet = Alphabet("aABEeHIiKkMNnoOPpTtuvXxYyZw", "αΑΒΕεΗΙιΚκΜΝηοΟΡρΤτυνΧχΥγΖω");
pub(crate) const CHEROKEE: Alphabet = Alphabet("ABCDEGHIJKLMPRSTVWZ", "ᎪᏴᏟᎠᎬᏀᎻᏆᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃ");
pub(crate) const LISU: Alphabet = Alphabet("ABCDEFGHIJKLMNOPRSTUVWXYZ", "ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ");
pub(crate) const ARMENIAN: Alphabet = Alphabet("ghnoOSuULzpqj", "ցհոօՕՏսՍԼշքզյ");
pub(crate) const COPTIC: Alphabet = Alphabet("ABCEHIKMNOPTXYaceikmnoptxy", "ⲀⲂⲤⲈⲎⲒⲔⲘⲚⲞⲢⲦⲬⲨⲁⲥⲉⲓⲕⲙⲛⲟⲣⲧⲭⲩ");
pub(crate) const SYLLABICS: Alphabet = Alphabet("ABCDFHJLMNPQRSUVWXZ", "ᗩᗷᑕᗪᖴᕼᒍᒪᗰᑎᑭᑫᖇᔕᑌᐯᗯ᙭ᘔ");
pub(crate) const SMALL_CAPITALS: Alphabet = Alphabet("abcdefghijklmnopqrstuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ");
pub(crate) const SUPERSCRIPT: Alphabet = Alphabet(
    "abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVW0123456789",
    "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ⁰¹²³⁴⁵⁶⁷⁸⁹",
);
pub(crate) const SUBSCRIPT: Alphabet = Alphabet("aehijklmnoprstuvx0123456789", "ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ₀₁₂₃₄₅₆₇₈₉");
pub(crate) const LEET: Alphabet = Alphabet("aAeEiIoOsStTgGlB", "44331100$57796|8");
pub(crate) const ACCENTED: Alphabet = Alphabet("AaCcEeGgIiLlNnOoSsTtUuYyZzKkRr", "ÀâÇčÉêĞğÎïŁļÑńÖøŠşŢťÜûÝÿŽżĶķŔř");
pub(crate) const HOOKED: Alphabet =
    Alphabet("AaBbCcDdEeGgHhIiKkLlMmNnOoPpRrSsTtUuVvYyZz", "ȺąƁƀƇƈĐđƐęƓɠĦħƗįƘƙȽƚⱮɱƝɲØơƤƥɌɽŞșŦƭƯųƲʋƳƴƵȥ");
pub(crate) const UPSIDE_DOWN: Alphabet = Alphabet(
    "abcdefghijklmnopqrstuvwxyz0123456789._?!'&ABCDEFGHIJLMNPRTUVWY",
    "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz0Ɩ2Ɛ߈ϛ9ㄥ86˙‾¿¡,⅋∀ꓭƆᗡƎℲ⅁HIſ˥WNԀᴚ┴∩ΛM⅄",
);
pub(crate) const ARABIC_DIGITS: Alphabet = Alphabet("0123456789", "٠١٢٣٤٥٦٧٨٩");
pub(crate) const DEVANAGARI_DIGITS: Alphabet = Alphabet("0123456789", "०१२३४५६७८९");
pub(crate) const PERCENT_SIGNS: [char; 4] = ['％', '٪', '﹪', '؉'];
pub(crate) const DASHES: [char; 8] = ['‐', '‑', '‒', '–', '—', '−', '﹣', '－'];
pub(crate) const LOW_LINES: [char; 4] = ['＿', '﹍', '‗', '﹏'];
pub(crate) const POINTS: [char; 5] = ['٫', '·', '．', '‚', '⸳'];

/// The mathematical alphabets: the offset of "A", of "a", and of "0" if it has digits.
const MATHEMATICAL: [(u32, u32, Option<u32>); 7] = [
    (0x1D400, 0x1D41A, Some(0x1D7CE)),
    (0x1D468, 0x1D482, None),
    (0x1D4D0, 0x1D4EA, None),
    (0x1D56C, 0x1D586, None),
    (0x1D5D4, 0x1D5EE, Some(0x1D7EC)),
    (0x1D63C, 0x1D656, None),
    (0x1D670, 0x1D68A, Some(0x1D7F6)),
];

pub(crate) fn mathematical(style: u64, letter: char) -> Option<String> {
    let (upper, lower, digit) = MATHEMATICAL[style as usize % MATHEMATICAL.len()];
    offset(letter, upper, lower, digit)
}

pub(crate) fn full_width(letter: char) -> Option<String> {
    ('!'..='~').contains(&letter).then(|| char::from_u32(letter as u32 - 0x21 + 0xFF01)).flatten().map(String::from)
}

pub(crate) fn circled(letter: char) -> Option<String> {
    match letter {
        '0' => Some("⓪".into()),
        '1'..='9' => char::from_u32(letter as u32 - '1' as u32 + 0x2460).map(String::from),
        _ => offset(letter, 0x24B6, 0x24D0, None),
    }
}

pub(crate) fn squared(style: u64, letter: char) -> Option<String> {
    let base = [0x1F130, 0x1F150, 0x1F170][style as usize % 3];
    offset(letter, base, base, None)
}

pub(crate) fn parenthesised(letter: char) -> Option<String> {
    match letter {
        '1'..='9' => char::from_u32(letter as u32 - '1' as u32 + 0x2474).map(String::from),
        _ => offset(letter, 0x1F110, 0x249C, None),
    }
}

pub(crate) fn regional(letter: char) -> Option<String> {
    offset(letter, 0x1F1E6, 0x1F1E6, None).map(|flag| flag + "\u{200B}")
}

fn offset(letter: char, upper: u32, lower: u32, digit: Option<u32>) -> Option<String> {
    let code = match letter {
        'A'..='Z' => upper + letter as u32 - 'A' as u32,
        'a'..='z' => lower + letter as u32 - 'a' as u32,
        '0'..='9' => digit? + letter as u32 - '0' as u32,
        _ => return None,
    };
    char::from_u32(code).map(String::from)
}
