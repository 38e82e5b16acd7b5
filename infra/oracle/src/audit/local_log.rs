//! A copy of the log in a directory, made by `aws s3 sync`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use domain::{
    Timestamp,
    ports::{AuditObjects, ListedObject, StorageError},
};

pub(crate) struct LocalLog(PathBuf);

impl LocalLog {
    pub(crate) const fn new(directory: PathBuf) -> Self {
        Self(directory)
    }
}

fn failed(error: io::Error) -> StorageError {
    StorageError { operation: "log directory read", source: Box::new(error) }
}

/// The names in a directory in the order of keys, for which a directory's name ends with a slash.
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

const PAGE: usize = 5_000;

/// Adds the keys after `after` in order, until the page is full.
fn take(directory: &Path, key: &str, after: &str, page: &mut Vec<ListedObject>) -> io::Result<()> {
    for (name, is_directory) in names(directory)? {
        let key = format!("{key}{name}");
        if page.len() >= PAGE {
            return Ok(());
        }
        if is_directory {
            // A directory contains keys after `after` only if it comes after it itself or contains it.
            if key.as_str() > after || after.starts_with(&key) {
                take(&directory.join(&name), &key, after, page)?;
            }
        } else if key.as_str() > after {
            // A copy does not show when the original was written, so that no period may exclude it.
            page.push(ListedObject { key, written_at: Timestamp::from_millis(i64::MAX) });
        }
    }
    Ok(())
}

#[async_trait]
impl AuditObjects for LocalLog {
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError> {
        let (directory, prefix) = (self.0.clone(), prefix.to_owned());
        let after = if after < prefix.as_str() { prefix.clone() } else { after.to_owned() };
        blocking(move || {
            let mut page = Vec::new();
            take(&directory, "", &after, &mut page)?;
            page.retain(|object| object.key.starts_with(&prefix));
            Ok(page)
        })
        .await
    }

    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.objects(vec![key.to_owned()]).await?.pop().map(|(_, bytes)| bytes))
    }

    /// Reads a whole stream on one blocking thread. Several streams are read in parallel, and a million small files do
    /// not cost a million switches of threads.
    async fn objects(&self, keys: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, StorageError> {
        let directory = self.0.clone();
        blocking(move || read_all(&directory, keys)).await
    }
}

/// Runs disk access on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, StorageError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| failed(io::Error::other(error)))?.map_err(failed)
}

fn read_all(directory: &Path, keys: Vec<String>) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        match fs::read(directory.join(&key)) {
            Ok(bytes) => found.push((key, bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_listed_in_order_wherever_a_page_begins() {
        let directory = std::env::temp_dir().join(format!("oracle-local-log-{}", std::process::id()));
        let keys = ["2026-01-01/session/a/000001.json", "2026-01-01/session/a-b/000001.json", "2026-01-02/x.json"];
        for key in keys {
            let path = directory.join(key);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, key).unwrap();
        }
        let log = LocalLog::new(directory.clone());
        let listed = |after: &str| {
            let after = after.to_owned();
            let page = crate::command::wait(async { Ok(log.keys("", &after).await.unwrap()) }).unwrap();
            page.into_iter().map(|object| object.key).collect::<Vec<_>>()
        };
        let mut sorted = keys.map(str::to_owned).to_vec();
        sorted.sort();
        assert_eq!(listed(""), sorted, "as S3 sorts them: by the whole key");
        for (index, key) in sorted.iter().enumerate() {
            assert_eq!(listed(key), sorted[index + 1..]);
        }
        assert_eq!(listed("2026-01-02"), ["2026-01-02/x.json"]);
        let read = |key: &str| crate::command::wait(async { Ok(log.object(key).await.unwrap()) }).unwrap();
        assert_eq!((read(keys[0]), read("2026-01-03/x.json")), (Some(keys[0].as_bytes().to_vec()), None));
        fs::remove_dir_all(directory).unwrap();
    }
}
