//! A copy of the log in a directory, as `aws s3 sync` makes it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use domain::{
    Timestamp,
    ports::{AuditObjects, ListedObject, StorageError},
};

/// The directory.
pub(crate) struct LocalLog(PathBuf);

impl LocalLog {
    pub(crate) const fn new(directory: PathBuf) -> Self {
        Self(directory)
    }
}

fn failed(error: io::Error) -> StorageError {
    StorageError { operation: "log directory read", source: Box::new(error) }
}

/// The names in a directory, in the order that keys have: a directory's name ends with its slash.
fn names(directory: &Path) -> io::Result<Vec<(String, bool)>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let is_directory = entry.file_type()?.is_dir();
        let name = entry.file_name().to_string_lossy().into_owned();
        names.push((if is_directory { format!("{name}/") } else { name }, is_directory));
    }
    names.sort();
    Ok(names)
}

/// Keys in one page.
const PAGE: usize = 5_000;

/// Takes keys in that come after `after`, in order, until the page is full.
fn take(directory: &Path, key: &str, after: &str, page: &mut Vec<ListedObject>) -> io::Result<()> {
    for (name, is_directory) in names(directory)? {
        let key = format!("{key}{name}");
        if page.len() >= PAGE {
            return Ok(());
        }
        if is_directory {
            // Nothing below comes after it unless the directory itself does or holds it.
            if key.as_str() > after || after.starts_with(&key) {
                take(&directory.join(&name), &key, after, page)?;
            }
        } else if key.as_str() > after {
            page.push(ListedObject { key, written_at: Timestamp::from_millis(0) });
        }
    }
    Ok(())
}

#[async_trait]
impl AuditObjects for LocalLog {
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError> {
        let mut page = Vec::new();
        let after = if after < prefix { prefix } else { after };
        take(&self.0, "", after, &mut page).map_err(failed)?;
        page.retain(|object| object.key.starts_with(prefix));
        Ok(page)
    }

    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        match fs::read(self.0.join(key)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}
