//! Measures the zipped size of every function as deployed.

use super::{Bench, report};
use crate::{error::Error, functions::build_release, python};
use serde_json::json;
use std::process::Command;

pub(super) fn size(bench: &Bench) -> Result<(), Error> {
    let python = python::stack_environment(&bench.supervisor)?;
    for (name, binary) in build_release(&bench.supervisor, None)? {
        // The same module and compression level as in `sam`.
        let code = "import sys, zipfile, io; b = io.BytesIO(); z = zipfile.ZipFile(b, 'w', zipfile.ZIP_DEFLATED); \
                    z.write(sys.argv[1], 'bootstrap'); z.close(); print(len(b.getvalue()))";
        let output = Command::new(python.program("python"))
            .args(["-c", code])
            .arg(&binary)
            .output()
            .map_err(Error::io(format!("zipping {name}")))?;
        let bytes: u64 = String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .map_err(|_| Error::Refused(format!("zipping {name}: {}", String::from_utf8_lossy(&output.stderr))))?;
        report(&json!({"name": format!("size/{name}"), "value": bytes, "unit": "bytes"}));
    }
    Ok(())
}
