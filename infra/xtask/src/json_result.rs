//! `--json` of commands whose programs print text for people: standard output gets the result, and nothing else.

use crate::error::Error;
use serde_json::Value;
use std::{
    fs::File,
    io::{self, Write},
    os::fd::AsFd,
};

/// Standard output, reserved for one JSON object.
pub(crate) struct JsonResult(File);

impl JsonResult {
    /// Reserves standard output. What this process and its children print from now on goes to standard error.
    pub(crate) fn reserve() -> Result<Self, Error> {
        let failed = || Error::io("reserving standard output for the result");
        let output = io::stdout().as_fd().try_clone_to_owned().map_err(failed())?;
        nix::unistd::dup2_stdout(io::stderr()).map_err(io::Error::from).map_err(failed())?;
        Ok(Self(File::from(output)))
    }

    pub(crate) fn write(mut self, result: &Value) -> Result<(), Error> {
        writeln!(self.0, "{result}").map_err(Error::io("writing the result"))
    }
}
