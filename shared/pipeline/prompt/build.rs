//! Refuses to build prompts that hold a term of the block list: what the model does not read it repeats less
//! often (Verdict Pipeline, invariant 6).

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
