//! Static scans of every page that customers see, for forbidden patterns of the interface and of image generation
//! (Memory Contract, G7).
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// "why routes to rule_ref open; no inline snippets": "no inline explanation/snippets/tooltips/popovers/hover".
const UI: [&str; 9] = [
    "tooltip",
    "popover",
    " title=",
    "<abbr",
    "<details",
    "onmouseover",
    "onmouseenter",
    "mouseenter",
    ":hover::after",
];

/// "no previews, no pick-a-version menus, no progress panels; weighted delivery only".
const IMAGES: [&str; 8] = [
    "pick a version",
    "pick-a-version",
    "choose a version",
    "regenerate image",
    "image-preview",
    "preview-image",
    "image-progress",
    "variations",
];

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../functions");
    let (mut found, mut open) = (Vec::new(), vec![root]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            if path.is_dir() {
                open.push(path);
            } else if ["html", "css", "js", "mjs"].contains(&extension) || path.ends_with("pages.rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn banned(text: &str, patterns: &[&str]) -> Vec<String> {
    let text = text.to_lowercase();
    let squeezed: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    patterns.iter().filter(|pattern| squeezed.contains(*pattern)).map(|pattern| (*pattern).to_owned()).collect()
}

fn scan(patterns: &[&str]) -> Vec<String> {
    let found = |path: &PathBuf| {
        let hits = banned(&fs::read_to_string(path).unwrap(), patterns);
        (!hits.is_empty()).then(|| format!("{}: {hits:?}", path.display()))
    };
    pages().iter().filter_map(found).collect()
}

#[test]
fn g7_ui_ban_scan() {
    assert!(pages().iter().any(|path| path.ends_with("result.html")), "the scan found no pages");
    assert_eq!(scan(&UI), Vec::<String>::new());
}

#[test]
fn g7_img_ban_scan() {
    assert_eq!(scan(&IMAGES), Vec::<String>::new());
}

#[test]
fn the_scans_find_what_they_look_for() {
    assert_eq!(banned("<a\n  TITLE=\"because rule 7\">why</a>", &UI), [" title="]);
    assert_eq!(banned("<div popover>…</div>", &UI), ["popover"]);
    assert_eq!(banned("<menu class=\"pick-a-version\">", &IMAGES), ["pick-a-version"]);
    assert_eq!(banned("<title>Oracle</title> a:hover { color: red }", &UI), Vec::<String>::new());
}
