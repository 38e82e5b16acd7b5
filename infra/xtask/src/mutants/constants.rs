//! Functions that are `const` although no constant needs them: without the word they can have switches.

use super::places::{ConstantFunction, Places};
use std::collections::{BTreeMap, BTreeSet};

/// Writes spaces over the `const` of the functions that no constant needs, so that every other byte keeps its place. Only
/// files that are `ours` are changed, and their texts returned; a `const` function of other files needs what it calls.
///
/// Calls are recognised by name alone, so a function may keep its `const` for another's sake.
pub(super) fn relaxed(
    texts: &BTreeMap<String, String>,
    ours: impl Fn(&str) -> bool,
) -> syn::Result<BTreeMap<String, String>> {
    let mut needed = BTreeSet::new();
    let mut functions = Vec::new();
    for (file, text) in texts.iter().filter(|(_, text)| text.contains("const ")) {
        let places = Places::read(text)?;
        needed.extend(places.values.into_iter().flat_map(|value| called(&text[value])));
        functions.extend(places.constant.into_iter().map(|function| (file, function)));
    }
    let body = |file: &String, function: &ConstantFunction| called(&texts[file][function.body.clone()]);
    let (inside, outside): (Vec<_>, Vec<_>) = functions.iter().partition(|(file, _)| ours(file));
    needed.extend(outside.iter().flat_map(|(file, function)| body(file, function)));
    loop {
        let before = needed.len();
        for (file, function) in &inside {
            if needed.contains(function.name.as_str()) {
                needed.extend(body(file, function));
            }
        }
        if needed.len() == before {
            break;
        }
    }
    let mut changed: BTreeMap<String, String> = texts.iter().filter(|(file, _)| ours(file)).map(owned).collect();
    for (file, function) in inside {
        if let Some(text) = changed.get_mut(file.as_str()).filter(|_| !needed.contains(function.name.as_str())) {
            text.replace_range(function.keyword.clone(), &" ".repeat(function.keyword.len()));
        }
    }
    Ok(changed)
}

fn owned((file, text): (&String, &String)) -> (String, String) {
    (file.clone(), text.clone())
}

/// The names before an opening parenthesis.
fn called(code: &str) -> BTreeSet<&str> {
    let start = |end: usize| code[..end].trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    code.match_indices('(').map(|(end, _)| &code[start(end)..end]).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_constant_needs_is_relaxed() -> syn::Result<()> {
        let ours = "const A: u8 = a();\nconst fn a() -> u8 { b(1) }\nconst fn b(c: u8) -> u8 { c }\n\
            impl T { pub const fn d(&self) -> u8 { self.f() } const fn e(&self) -> u8 { 1 } const fn f(&self) -> u8 { 2 } }\n";
        let theirs = "const fn g(t: &T) -> u8 { t.e() }\n";
        let texts = [("ours.rs", ours), ("theirs.rs", theirs)].map(|(file, text)| (file.to_owned(), text.to_owned()));
        let relaxed = relaxed(&texts.into(), |file| file == "ours.rs")?;
        assert_eq!(relaxed.len(), 1);
        let expected = ours.replace("const fn d", "      fn d").replace("const fn f", "      fn f");
        assert_eq!(relaxed["ours.rs"], expected);
        Ok(())
    }
}
