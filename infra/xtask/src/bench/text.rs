//! Extracts readable text from documentation: HTML and similar formats, manual pages, plain text. Pure.

/// The named character references of the filter, one per line.
const ENTITIES: &str = include_str!("../../../../shared/rules/filter/data/entities.txt");

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Format {
    /// HTML, or another markup language with tags.
    Markup,
    /// A manual page in roff.
    Manual,
    /// Text as it is.
    Plain,
}

/// The format of an unpacked file, by its path inside its package; `None` if it is not documentation.
pub(super) fn format_of(path: &str) -> Option<Format> {
    const NOT_PROSE: [&str; 5] = ["copyright", "changelog", "readme", "news", "authors"];
    let name = path.rsplit('/').next()?.to_lowercase();
    if NOT_PROSE.iter().any(|start| name.starts_with(start)) {
        return None;
    }
    if path.contains("/man/man") {
        return Some(Format::Manual);
    }
    let is_text = ["share/doc/", "share/games/"].iter().any(|directory| path.contains(directory));
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html" | "htm" | "xhtml" | "page") if path.contains("usr/share/") => Some(Format::Markup),
        None | Some("txt" | "text" | "md") if is_text => Some(Format::Plain),
        _ => None,
    }
}

/// The text that a reader sees.
pub(super) fn readable(format: Format, source: &str) -> String {
    match format {
        Format::Markup => markup(source),
        Format::Manual => manual(source),
        Format::Plain => source.to_owned(),
    }
}

/// The number of words in a text: runs without white space that contain a letter.
pub(super) fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count()
}

/// Removes tags, comments, scripts and styles; puts block elements on separate lines; resolves references.
fn markup(source: &str) -> String {
    let mut out = String::with_capacity(source.len() / 2);
    let mut rest = source;
    while let Some(at) = rest.find('<') {
        unescape(&rest[..at], &mut out);
        rest = &rest[at..];
        let end = if rest.starts_with("<!--") {
            rest.find("-->").map(|end| end + 3)
        } else {
            rest.find('>').map(|end| end + 1)
        };
        let Some(end) = end else { break };
        let tag = &rest[1..end - 1];
        rest = &rest[end..];
        let closing = tag.strip_prefix('/');
        let name: String =
            closing.unwrap_or(tag).chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        if closing.is_none() && matches!(name.as_str(), "script" | "style") {
            rest = rest.find(&format!("</{name}")).map_or("", |end| &rest[end..]);
        }
        match name.as_str() {
            "p" | "div" | "li" | "dt" | "dd" | "tr" | "table" | "pre" | "ul" | "ol" | "dl" | "section"
            | "blockquote" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "title" | "page" | "item" => {
                out.push_str("\n\n")
            }
            "br" => out.push('\n'),
            "td" | "th" => out.push('\t'),
            _ => {}
        }
    }
    unescape(rest, &mut out);
    without_blank_runs(&out)
}

/// Reduces blank lines to one between paragraphs, and removes white space at line ends.
fn without_blank_runs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = 0;
    for line in text.lines().map(str::trim_end) {
        blank = if line.is_empty() { blank + 1 } else { 0 };
        if blank < 2 {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// The character that a reference names, without its "&" and ";".
fn referenced(reference: &str) -> Option<char> {
    const MORE: [(&str, char); 9] = [
        ("lt", '<'),
        ("gt", '>'),
        ("apos", '\''),
        ("ldquo", '“'),
        ("rdquo", '”'),
        ("lsquo", '‘'),
        ("rsquo", '’'),
        ("copy", '©'),
        ("para", '¶'),
    ];
    let hexadecimal = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    match reference.strip_prefix('#') {
        Some(digits) => match digits.strip_prefix(['x', 'X']) {
            Some(digits) => hexadecimal(digits),
            None => digits.parse().ok().and_then(char::from_u32),
        },
        None => {
            let more = MORE.iter().find(|(name, _)| *name == reference).map(|(_, c)| *c);
            let listed = |line: &str| hexadecimal(line.strip_prefix(reference)?.strip_prefix(' ')?.trim());
            more.or_else(|| ENTITIES.lines().find_map(listed))
        }
    }
}

fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let named = rest[1..].find(';').filter(|length| *length <= 8).map(|length| &rest[1..=length]);
        match named.and_then(|name| Some((name, referenced(name)?))) {
            Some((name, c)) => {
                out.push(c);
                rest = &rest[name.len() + 2..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
}

/// A manual page's text without its requests; macros that set text keep their arguments.
fn manual(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for line in source.lines() {
        let Some(request) = line.strip_prefix(['.', '\'']) else {
            roff_escapes(line, &mut out);
            out.push('\n');
            continue;
        };
        let (name, arguments) = request.split_once(' ').unwrap_or((request, ""));
        let arguments = arguments.trim();
        match name {
            "B" | "I" | "R" | "SM" | "SB" => roff_escapes(arguments.trim_matches('"'), &mut out),
            "BR" | "BI" | "IR" | "IB" | "RB" | "RI" => roff_escapes(&joined(arguments), &mut out),
            "SH" | "SS" | "Sh" | "Ss" => {
                out.push('\n');
                roff_escapes(arguments.trim_matches('"'), &mut out);
                out.push('\n');
            }
            "PP" | "P" | "LP" | "TP" | "IP" | "Pp" | "sp" | "br" => out.push('\n'),
            _ => continue,
        }
        out.push('\n');
    }
    out
}

/// The arguments of a macro that sets them side by side in alternating fonts.
fn joined(arguments: &str) -> String {
    let mut text = String::new();
    let mut quoted = false;
    for c in arguments.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => {}
            c => text.push(c),
        }
    }
    text
}

fn roff_escapes(line: &str, out: &mut String) {
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let mut special = |name: &str| {
            out.push_str(match name {
                "aq" | "cq" | "oq" => "'",
                "dq" | "lq" | "rq" => "\"",
                "em" => "—",
                "en" => "–",
                "bu" => "•",
                "ti" => "~",
                "ha" => "^",
                "co" => "©",
                _ => "",
            });
        };
        match chars.next() {
            Some('f' | '*' | 's') => {
                // The name of a font, string or size: one letter, two after "(", any number in brackets.
                match chars.next() {
                    Some('(') => drop(chars.nth(1)),
                    Some('[') => drop(chars.find(|c| *c == ']')),
                    Some('+' | '-') => drop(chars.next()),
                    _ => {}
                }
            }
            Some('(') => special(&chars.by_ref().take(2).collect::<String>()),
            Some('[') => special(&chars.by_ref().take_while(|c| *c != ']').collect::<String>()),
            Some('-') => out.push('-'),
            Some('e') => out.push('\\'),
            Some('"') | None => return,
            Some(' ' | '~') => out.push(' '),
            Some('&' | '|' | '^' | '/' | ',' | ':' | '%' | 'c') => {}
            Some(other) => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_reads_as_a_reader_sees_it() {
        let source = "<html><head><title>A &amp; B</title><style>p { color: red }</style></head>\
                      <body><!-- <p>hidden</p> --><p>One<b>two</b> &#78;&#x4f; &unknown; 3 < 4</p></body>";
        assert_eq!(readable(Format::Markup, source).trim(), "A & B\n\nOnetwo NO &unknown; 3");
        assert_eq!(readable(Format::Markup, "<td>a</td><td>b</td>x<br/>y"), "\ta\t\tb\tx\ny\n");
    }

    #[test]
    fn a_manual_page_keeps_its_words_and_loses_its_requests() {
        let source = ".TH LS 1\n.SH \"NAME OF IT\"\nls \\- list \\fBfiles\\fR\\(em all\n.BR ls (1)\n.de XX\n\\\" note\n.I big word\n";
        assert_eq!(readable(Format::Manual, source).trim(), "NAME OF IT\n\nls - list files— all\nls(1)\n\nbig word");
    }

    #[test]
    fn only_documentation_has_a_format() {
        for (path, format) in [
            ("usr/share/doc/a/html/b.html", Some(Format::Markup)),
            ("usr/share/man/man3/b.3", Some(Format::Manual)),
            ("usr/share/games/fortunes/art", Some(Format::Plain)),
            ("usr/share/games/fortunes/art.dat", None),
            ("usr/share/doc/a/changelog.Debian", None),
            ("usr/share/doc/a/copyright", None),
            ("usr/lib/a/b.html", None),
        ] {
            assert_eq!(format_of(path), format, "{path}");
        }
    }

    #[test]
    fn numbers_are_not_words() {
        assert_eq!(words("12 apples, 3 x 4 = E8"), 3);
    }
}
