//! The directory of a local stack, and its two files for other programs: stack.json and processes.json.

use crate::{error::Error, toll::Toll};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The name of the stack that template.yaml is deployed as.
pub(crate) const STACK: &str = "oracle-local";
/// The region that the emulator simulates.
pub(crate) const REGION: &str = "us-east-1";

#[derive(Clone)]
pub(crate) struct LocalDir {
    root: PathBuf,
    dir: PathBuf,
}

/// target/local/stack.json: the data that tests and tools need about a running stack.
#[derive(Serialize, Deserialize)]
pub(crate) struct StackFile {
    /// The public address: pages and /api/*, as behind a custom domain.
    pub(crate) site: String,
    /// The simulated vendors and their control calls.
    pub(crate) sandbox: String,
    pub(crate) aws_endpoint: String,
    pub(crate) stack: String,
    pub(crate) region: String,
    /// The secret that signs webhooks here.
    pub(crate) stripe_webhook_secret: String,
    /// Vendors that are real, by name: stripe, gemini, graph.
    pub(crate) real_vendors: Vec<String>,
    /// The toll's data, and a funded wallet of the sandbox.
    #[serde(default)]
    pub(crate) toll: Toll,
    pub(crate) outputs: BTreeMap<String, String>,
}

impl LocalDir {
    /// The given directory, or else ORACLE_LOCAL_DIR, or else target/local of this repository.
    pub(crate) fn new(chosen: Option<PathBuf>) -> Result<Self, Error> {
        let root = repository()?;
        let dir = match chosen.or_else(|| std::env::var_os("ORACLE_LOCAL_DIR").map(PathBuf::from)) {
            Some(dir) => std::path::absolute(dir).map_err(Error::io("the stack's directory"))?,
            None => root.join("target/local"),
        };
        for part in ["logs", "zips", "tmp"] {
            let path = dir.join(part);
            fs::create_dir_all(&path).map_err(Error::io(format!("creating {}", path.display())))?;
        }
        Ok(Self { root, dir })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Removes the temporary files: the emulator leaves its copies of the functions there, some 0.5 GB with each start.
    pub(crate) fn empty_tmp(&self) -> Result<(), Error> {
        let tmp = self.file("tmp");
        let failed = || Error::io(format!("emptying {}", tmp.display()));
        match fs::remove_dir_all(&tmp) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed()(error)),
            _ => {}
        }
        fs::create_dir_all(&tmp).map_err(failed())
    }

    pub(crate) fn log(&self, program: &str) -> PathBuf {
        self.dir.join("logs").join(format!("{program}.log"))
    }

    /// Reads a JSON file of the directory; `None` when it does not exist.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let path = self.file(name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(format!("reading {}", path.display()))(error)),
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| Error::Refused(format!("{} is not what this version writes: {error}", path.display())))
    }

    /// Writes a JSON file of the directory atomically, so that no reader sees a part of it.
    pub(crate) fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Error> {
        let path = self.file(name);
        let unfinished = self.file(&format!("{name}.unfinished"));
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Error::Refused(format!("{name} cannot be written as JSON: {error}")))?;
        fs::write(&unfinished, text + "\n")
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(Error::io(format!("writing {}", path.display())))
    }

    /// Removes a file of the directory, if it exists.
    pub(crate) fn remove(&self, name: &str) {
        // A missing file is fine.
        let _ = fs::remove_file(self.file(name));
    }
}

/// The root of the repository that this program was built from, or of the one it is started in.
pub(crate) fn repository() -> Result<PathBuf, Error> {
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let current = std::env::current_dir().map_err(Error::io("the current directory"))?;
    current
        .ancestors()
        .map(Path::to_path_buf)
        .chain([built_in])
        .find(|path| path.join("template.yaml").is_file() && path.join("infra/local/deploy.py").is_file())
        .and_then(|path| path.canonicalize().ok())
        .ok_or_else(|| Error::Refused("run this inside the repository".to_owned()))
}
