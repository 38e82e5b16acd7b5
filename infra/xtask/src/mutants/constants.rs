//! Functions that are `const` although no constant needs them: without the word they can have switches.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};
use syn::{spanned::Spanned as _, visit::Visit};

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
        let mut found = Constants::default();
        found.visit_file(&syn::parse_file(text)?);
        needed.extend(found.values.into_iter().flat_map(|value| called(&text[value])));
        functions.extend(found.functions.into_iter().map(|function| (file, function)));
    }
    let body = |file: &String, function: &Function| called(&texts[file][function.body.clone()]);
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

/// A `const` function.
struct Function {
    name: String,
    /// The word `const`, in bytes.
    keyword: Range<usize>,
    body: Range<usize>,
}

/// The `const` functions of a file, and its constants and statics, in bytes.
#[derive(Default)]
struct Constants {
    functions: Vec<Function>,
    values: Vec<Range<usize>>,
}

impl Constants {
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if let Some(keyword) = &signature.constness {
            let (keyword, body) = (keyword.span().byte_range(), block.span().byte_range());
            self.functions.push(Function { name: signature.ident.to_string(), keyword, body });
        }
    }
}

impl<'ast> Visit<'ast> for Constants {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.values.push(item.span().byte_range());
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.values.push(item.span().byte_range());
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.values.push(item.span().byte_range());
    }

    fn visit_expr_const(&mut self, expression: &'ast syn::ExprConst) {
        self.values.push(expression.span().byte_range());
    }
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
