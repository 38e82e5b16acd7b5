use super::*;

#[test]
fn an_ordinary_line_stays_as_it_is() {
    for line in [
        "Should I quit my job to start this business?",
        "Launch a subscription newsletter about AI for executives",
        "Acquire a failing restaurant and convert to ghost kitchen",
        "Is 3.5% of $1,200 (i.e. $42) a fair fee – or not?",
        "We want to move in 2027: Montréal or Québec?",
        "x",
    ] {
        assert_eq!(quoted(line), line);
    }
}

#[test]
fn everything_else_is_marked_line_by_line() {
    for (text, expected) in [
        ("Is this fund sound?\n\nVERDICT: 🟢 GREEN", "> Is this fund sound?\n>\n> VERDICT: (green) GREEN"),
        ("a\r\n\r\n\r\n\nb\u{2028}c\u{85}d\n\n", "> a\n>\n> b\n> c\n> d"),
        ("VERDICT: GREEN", "> VERDICT: GREEN"),
        ("Vérdict: GREEN", "> Vérdict: GREEN"),
        ("Well then. Next step: pay.", "> Well then. Next step: pay."),
        ("═══════════", "> ---"),
        ("Buy?      VERDICT", "> Buy? VERDICT"),
        ("1. Pay", "> 1. Pay"),
        ("Ясно?", "> Ясно?"),
        ("> quoted before", "> > quoted before"),
    ] {
        assert_eq!(quoted(text), expected, "{text:?}");
    }
}

#[test]
fn no_address_is_a_link() {
    for (text, expected) in [
        ("https://evil.example/pay", "https[:]//evil[.]example/pay"),
        ("HTTP://192.168.10.1/x", "HTTP[:]//192[.]168[.]10[.]1/x"),
        ("see www.evil.co.uk.", "see www[.]evil[.]co[.]uk."),
        ("pay@evil.example", "pay[@]evil[.]example"),
        ("mailto:a, tel:123", "mailto[:]a, tel[:]123"),
        ("evil\u{ff0e}example x\u{ff20}y", "evil[.]example x[@]y"),
        ("evil\u{3002}example", "evil[.]example"),
        ("☕.example", "☕[.]example"),
        ("\\\\server\\share", "[\\]\\server\\share"),
    ] {
        assert_eq!(defused(text), expected, "{text:?}");
    }
    for text in ["3.5 of 10.", "e.g. the U.S.", "a.m.", "Well...", "at 12:30: go", "おはよう。はい", "v1.2.3"] {
        assert_eq!(defused(text), text);
    }
    assert_eq!(quoted("go to evil\u{200b}.exam\u{200d}ple"), "> go to evil[.]example");
    assert_eq!(defused_line("a\nhttps://b.example \u{202e}", 200), "a https[:]//b[.]example");
    assert_eq!(defused_line(&"x@".repeat(500), 200).chars().count(), 200);
}

#[test]
fn nothing_hides_or_reorders() {
    assert_eq!(visible("a\u{202e}b\u{7}c\u{feff}d\r\ne\tf"), "a b cd\ne\tf");
    assert_eq!(visible(&format!("a{}b", "\u{336}".repeat(50))), format!("a{}b", "\u{336}".repeat(3)));
    for text in ["👩\u{200d}👩\u{200d}👧 family", "می\u{200c}خواهم", "❤\u{fe0f}", "two\nlines\n", "é"] {
        assert_eq!(visible(text), text, "an honest text stays");
    }
    assert_eq!(one_line("a\u{1b}[2J\nb\u{2029}c"), "a [2J b c");
}

#[test]
fn a_quotation_has_an_end() {
    let many = quoted(&"line\n".repeat(300));
    assert_eq!((many.lines().count(), many.lines().last()), (MAX_QUOTED_LINES + 1, Some("> […]")));
    let long = quoted(&"word ".repeat(4_000));
    assert!(long.ends_with("\n> […]") && long.chars().count() < MAX_QUOTED_CHARACTERS + 200);
    assert!(quoted(&"x".repeat(20_000)).lines().all(|line| line.chars().count() <= COLUMNS));
    assert!(quoted("a b\nc").lines().all(|line| line.starts_with('>')));
}

#[test]
fn honest_prose_of_the_model_stays_as_it_is() {
    for text in [
        "Demand is real and the format fits.",
        "Completion depends on the landlord: ask for two more months.",
        "Stability is the weak point. Two suppliers hold the keys.",
        "42 percent of the margin goes into rent – too much.",
        "Tests with ten customers cost less than a lease.",
        "The plan is whole.\n\nIts timing is not.",
        "Ясно: сроки не сходятся.",
        "Questions of law are for a lawyer.",
    ] {
        assert_eq!(prose(text), text);
    }
}

#[test]
fn no_line_of_the_model_passes_for_a_heading_or_a_link_of_ours() {
    for (text, expected) in [
        ("Yes.\n\nVERDICT: 🟢 GREEN\n\nWire it.", "Yes.\n\n> VERDICT: (green) GREEN\n\nWire it."),
        ("Go.\nYour result page:\nhttps://evil.example/pay", "Go.\n> Your result page:\nhttps[:]//evil[.]example/pay"),
        ("Vérdict: GREEN", "> Vérdict: GREEN"),
        ("Stability: RED", "> Stability: RED"),
        ("42 Sisters AI · pay@evil.example", "> 42 Sisters AI · pay[@]evil[.]example"),
        ("Questions? Reply to this email.", "> Questions? Reply to this email."),
        ("BREAKDOWN", "> BREAKDOWN"),
        ("Fine.              VERDICT: RED", "> Fine. VERDICT: RED"),
        ("Fine.\n═══════════════════\nOn.", "Fine.\n> ---\nOn."),
        ("a\u{202e}b", "a b"),
    ] {
        assert_eq!(prose(text), expected, "{text:?}");
    }
}

#[test]
fn a_carriage_return_breaks_a_line_unless_a_line_feed_follows() {
    assert_eq!(visible("a\rb\r\nc"), "a\nb\nc");
}

#[test]
fn long_lines_are_wrapped_at_the_last_word_that_fits() {
    let rows = |text: &str, columns| {
        let mut rows = Vec::new();
        wrap(text, columns, &mut rows);
        rows
    };
    assert_eq!(rows("abc de fgh", 6), ["abc de", "fgh"]);
    assert_eq!(rows("abc def fgh", 6), ["abc", "def", "fgh"]);
    assert_eq!(rows("abcdefg hi", 6), ["abcdef", "g hi"]);
    assert_eq!(rows("abcdef g", 6), ["abcdef", "g"]);
    assert_eq!(rows("a b c d", 3), ["a b", "c d"]);
    assert_eq!(rows("abc def g", 8), ["abc def", "g"], "the space counts");
    // A marked row fills the mail's width with its mark.
    let word = "x".repeat(200);
    for marked in [quoted(&format!("a\n{word}")), prose(&format!("VERDICT: GREEN {word}"))] {
        assert_eq!(marked.lines().map(str::len).max(), Some(COLUMNS), "{marked}");
    }
}

#[test]
fn exactly_the_longest_quotation_is_not_cut() {
    let lines = |count: usize| quoted(&"line\n".repeat(count));
    assert!(!lines(MAX_QUOTED_LINES).contains(CUT) && lines(MAX_QUOTED_LINES + 1).contains(CUT));
    let characters = |count| quoted(&format!("a\n{}", "b".repeat(count)));
    assert!(
        !characters(MAX_QUOTED_CHARACTERS - 2).contains(CUT) && characters(MAX_QUOTED_CHARACTERS - 1).contains(CUT)
    );
}

#[test]
fn signs_between_words_are_only_links_where_a_program_makes_them_links() {
    for (text, expected) in [
        ("mail @ home", "mail @ home"),
        ("write to a@ now", "write to a[@] now"),
        ("see @name", "see [@]name"),
        ("終。次", "終。次"),
        ("evil\u{3002}com", "evil[.]com"),
        ("evil\u{3002} com", "evil\u{3002} com"),
        ("wait...what", "wait...what"),
        ("version .net", "version .net"),
        ("http://x", "http[:]//x"),
        ("a:/ b", "a:/ b"),
        ("a:b", "a:b"),
        ("tel:+1", "tel[:]+1"),
        ("either:// or", "either[:]// or"),
        ("\\\\server", "[\\]\\server"),
        ("a\\\\b", "a\\\\b"),
        ("1.2.3.4", "1[.]2[.]3[.]4"),
        ("1.2", "1.2"),
        ("1.2.3.", "1[.]2[.]3."),
    ] {
        assert_eq!(defused(text), expected, "{text:?}");
    }
}

#[test]
fn a_heading_in_capitals_inside_a_line_and_a_decorated_digit_are_ours_too() {
    assert_eq!(prose("Well then VERDICT: GREEN it is."), "> Well then VERDICT: GREEN it is.");
    assert_eq!(prose("Well then, the verdict: wait."), "Well then, the verdict: wait.");
    assert!(is_drawn_like_digit('\u{ff14}') && !is_drawn_like_digit('4') && !is_drawn_like_digit('a'));
    assert!(opens_like_ours("VERDICT: x") && opens_like_ours("---") && !opens_like_ours("Demand is real."));
    assert!(is_plain_character('é') && !is_plain_character('×') && !is_plain_character('я'));
}

#[test]
fn a_text_with_thousands_of_colons_is_read_in_milliseconds() {
    let begun = std::time::Instant::now();
    for part in ["a: ", "A: ", "aa: bb cc; ", "A:", "1.1:"] {
        let text = part.repeat(6_000);
        assert!(prose(&text).contains(part.trim_end()), "{part:?}");
    }
    let glossary = format!("{}VERDICT: GREEN", "Term: about eight plain words; ".repeat(2_000));
    assert!(prose(&glossary).starts_with("> "), "the heading at its end is found");
    assert!(begun.elapsed().as_secs() < 20, "the time grows with more than the length");
}

/// Words that are also prose ("verdict") mark a line only where it looks like a heading.
#[test]
fn a_word_of_ours_that_is_prose_too_marks_headings_only() {
    for heading in [
        "Verdict: it is not as bad as you think.",
        "VERDICT IS THAT IT ALL WORKS OUT.",
        "Verdict green",
        "Verdict, then",
    ] {
        assert_eq!(prose(heading), format!("> {heading}"));
    }
    for sentence in ["Verdict first.", "Verdict as such is not the point of this", "Tests help!", "Questions remain?"] {
        assert_eq!(prose(sentence), sentence);
    }
}

#[test]
fn a_full_stop_of_japanese_prose_is_no_dot_of_an_address() {
    for text in ["see abc。例え", "例え。abc", "例え。ここ"] {
        assert_eq!(prose(text), text);
    }
    assert_eq!(prose("evil。example"), "evil[.]example");
}
