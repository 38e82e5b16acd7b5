//! Fails the build if a prompt contains a term of the block list: the model repeats a term less often if it does not
//! read it (Verdict Pipeline, invariant 6).

use std::{error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=prompts");
    for entry in fs::read_dir("prompts")? {
        let path = entry?.path();
        let checked = filter::Filter::embedded().check(&fs::read_to_string(&path)?);
        if let Some(hit) = checked.hits.first() {
            let place = path.display();
            return Err(format!("{place}: blocked term {:?} at byte {}", hit.term, hit.start).into());
        }
    }
    Ok(())
}
