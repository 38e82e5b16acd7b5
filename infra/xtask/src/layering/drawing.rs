//! The drawing of the crates in CONTRIBUTING.md, made from cargo's data.

use super::{Layer, Packages};
use crate::error::Error;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

const BEGIN: &str = "<!-- The crates: written by `cargo xtask layers --write`. -->\n";
const END: &str = "<!-- End of the crates. -->\n";

/// Draws the layers with their crates and their dependencies on each other, then every crate with its direct
/// dependencies. Crates that are only used in tests are left out.
pub(crate) fn draw(packages: &Packages) -> String {
    let layer = |name: &str| packages.get(name).and_then(|package| Layer::of(&package.folder));
    let mut crates: BTreeMap<Layer, Vec<&str>> = BTreeMap::new();
    let mut uses: BTreeMap<Layer, BTreeSet<Layer>> = BTreeMap::new();
    for (name, package) in packages {
        let Some(own) = layer(name).filter(|own| *own != Layer::Tests) else { continue };
        crates.entry(own).or_default().push(name);
        uses.entry(own).or_default().extend(package.ours.iter().filter_map(|used| layer(used)).filter(|of| *of != own));
    }
    let mut text = "```mermaid\nflowchart TD\n".to_owned();
    for (layer, names) in &crates {
        let _ = writeln!(text, "    {}[\"<b>{}</b><br>{}\"]", id(*layer), layer.name(), names.join("<br>"));
    }
    for (from, to) in &uses {
        for to in to.iter().filter(|to| !is_implied(&uses, *from, **to)) {
            let _ = writeln!(text, "    {} --> {}", id(*from), id(*to));
        }
    }
    text.push_str("```\n\n| crate | folder | uses |\n|---|---|---|\n");
    for (layer, names) in &crates {
        for name in names {
            let Some(package) = packages.get(*name) else { continue };
            let ours: Vec<&str> = package.ours.iter().map(String::as_str).collect();
            let _ = writeln!(text, "| {name} | {} | {} |", layer.name(), ours.join(" · "));
        }
    }
    text
}

fn id(layer: Layer) -> String {
    layer.name().replace('/', "_")
}

/// Whether an arrow is implied by a chain of other arrows.
fn is_implied(uses: &BTreeMap<Layer, BTreeSet<Layer>>, from: Layer, to: Layer) -> bool {
    let direct = |of: Layer| uses.get(&of).into_iter().flatten().copied();
    let mut seen = BTreeSet::new();
    let mut next: Vec<Layer> = direct(from).filter(|via| *via != to).collect();
    while let Some(via) = next.pop() {
        if via == to {
            return true;
        }
        if seen.insert(via) {
            next.extend(direct(via));
        }
    }
    false
}

fn file(root: &Path) -> PathBuf {
    root.join("CONTRIBUTING.md")
}

/// The text with this drawing between its markers.
fn with_drawing(text: &str, drawing: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{drawing}\n{END}{after}"))
}

/// The current text of CONTRIBUTING.md, and the text with the current drawing.
fn contributing(root: &Path, packages: &Packages) -> Result<(String, String), Error> {
    let text = fs::read_to_string(file(root)).map_err(Error::io("reading CONTRIBUTING.md"))?;
    let drawn = with_drawing(&text, &draw(packages)).ok_or_else(|| {
        Error::Refused(format!("CONTRIBUTING.md has no place for the drawing: the lines\n{BEGIN}{END}are missing"))
    })?;
    Ok((text, drawn))
}

/// Whether the drawing in CONTRIBUTING.md matches the workspace.
pub(crate) fn is_current(root: &Path, packages: &Packages) -> Result<bool, Error> {
    contributing(root, packages).map(|(text, drawn)| text == drawn)
}

pub(crate) fn write(root: &Path, packages: &Packages) -> Result<(), Error> {
    let (_, drawn) = contributing(root, packages)?;
    fs::write(file(root), drawn).map_err(Error::io("writing CONTRIBUTING.md"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layering::Package;

    fn packages() -> Packages {
        let package = |folder: &str, ours: &[&str]| Package {
            folder: folder.to_owned(),
            ours: ours.iter().map(|name| (*name).to_owned()).collect(),
            ..Package::default()
        };
        [
            ("domain", package("shared/domain", &[])),
            ("filter", package("shared/rules/filter", &["domain"])),
            ("verdict", package("functions/verdict", &["domain", "filter"])),
            ("tests", package("tests", &["verdict"])),
        ]
        .map(|(name, package)| (name.to_owned(), package))
        .into()
    }

    #[test]
    fn an_arrow_that_others_imply_is_left_out_and_so_are_tests() {
        let expected = "```mermaid\nflowchart TD\n    functions[\"<b>functions</b><br>verdict\"]\n    \
            shared_rules[\"<b>shared/rules</b><br>filter\"]\n    shared_domain[\"<b>shared/domain</b><br>domain\"]\n    \
            functions --> shared_rules\n    shared_rules --> shared_domain\n```\n\n| crate | folder | uses |\n\
            |---|---|---|\n| verdict | functions | domain · filter |\n| filter | shared/rules | domain |\n\
            | domain | shared/domain |  |\n";
        assert_eq!(draw(&packages()), expected);
    }

    #[test]
    fn the_drawing_replaces_what_is_between_the_marks_and_nothing_else() {
        let text = format!("before\n{BEGIN}old\n{END}after\n");
        let drawn = with_drawing(&text, "new\n").unwrap();
        assert_eq!(drawn, format!("before\n{BEGIN}\nnew\n\n{END}after\n"));
        assert_eq!(with_drawing(&drawn, "new\n").unwrap(), drawn);
        assert_eq!(with_drawing("no marks\n", "new\n"), None);
    }
}
