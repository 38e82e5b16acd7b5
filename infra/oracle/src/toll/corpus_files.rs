//! The texts of a folder.

use std::{fs, path::Path};

use retrieval::{MOST_BYTES, Text};

use crate::command::CommandError;

/// Reads every .txt and .md file of a folder and the folders in it; links are not followed.
pub(crate) fn read(folder: &Path) -> Result<Vec<Text>, CommandError> {
    let mut texts = Vec::new();
    add(folder, "", &mut texts)?;
    if texts.is_empty() {
        return Err(CommandError::Refused(format!("{} holds no .txt or .md file", folder.display())));
    }
    Ok(texts)
}

fn add(folder: &Path, prefix: &str, texts: &mut Vec<Text>) -> Result<(), CommandError> {
    let unreadable = |path: &Path, error| CommandError::failed(&format!("{} cannot be read", path.display()), error);
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, error))? {
        let entry = entry.map_err(|error| unreadable(folder, error))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let is_text = path.extension().is_some_and(|extension| extension == "txt" || extension == "md");
        if kind.is_dir() {
            add(&path, &format!("{name}/"), texts)?;
        } else if kind.is_file() && is_text {
            let size = entry.metadata().map_err(|error| unreadable(&path, error))?.len();
            if size > MOST_BYTES as u64 {
                return Err(CommandError::Refused(format!("{} is larger than an index may be", path.display())));
            }
            let content = fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
            texts.push(Text { name, content });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_in_folders_and_other_files_are_not() {
        let folder = std::env::temp_dir().join(format!("oracle-corpus-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(folder.join("deep")).unwrap();
        assert!(matches!(read(&folder), Err(CommandError::Refused(_))));
        for (name, content) in [("a.md", "A."), ("deep/b.txt", "B."), ("c.png", "C.")] {
            fs::write(folder.join(name), content).unwrap();
        }
        let mut names: Vec<_> = read(&folder).unwrap().into_iter().map(|text| text.name).collect();
        names.sort();
        assert_eq!(names, ["a.md", "deep/b.txt"]);
        fs::write(folder.join("bad.txt"), [0xff, 0xfe]).unwrap();
        assert!(matches!(read(&folder), Err(CommandError::Failed { .. })));
        fs::remove_dir_all(folder).unwrap();
    }
}
