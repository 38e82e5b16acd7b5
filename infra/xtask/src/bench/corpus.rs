//! Ordinary English for counting false hits: documentation packages of Debian, downloaded once and stored in
//! `target/corpus`. Their authors did not know the block list.
//!
//! No version is pinned, because a mirror has only the newest one. If a point release of Debian moves a count across its
//! limit (`suite/false_hits.rs`), look at the hits first, each of which the step prints. Mend the rule if an ordinary word
//! is hit for the first time. If a new edition only has more of what was hit before, change the limit, and name the
//! release in the commit.

use super::text::{self, Format};
use crate::{error::Error, processes::Supervisor};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The packages, of Debian 12, that the filter's rules were measured on while they were written: prose and reference,
/// one language, about 6 million words in 20 MB.
pub(crate) const MEASURED: &[&str] = &[
    "anarchism",
    "apt-doc",
    "aptitude-doc-en",
    "debian-faq",
    "debian-policy",
    "debian-reference-en",
    "developers-reference",
    "doc-debian",
    "fortunes",
    "git-doc",
    "libreoffice-help-en-us",
    "manpages",
    "manpages-dev",
    "postgresql-doc-15",
];

/// Packages that were first counted before any rule was written for them: manuals of programs, about 3 million words in
/// 20 MB.
pub(crate) const UNSEEN: &[&str] = &[
    "autoconf-doc",
    "bind9-doc",
    "borgbackup-doc",
    "mercurial-common",
    "python-django-doc",
    "sphinx-doc",
    "vim-doc",
    "zsh-doc",
];

/// One text file per package, downloaded and extracted if it does not exist yet.
pub(crate) fn texts(supervisor: &Supervisor, root: &Path, packages: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let directory = root.join("target/corpus");
    fs::create_dir_all(&directory).map_err(Error::io(format!("creating {}", directory.display())))?;
    let text_of = |package: &str| directory.join(format!("{package}.txt"));
    let missing: Vec<&str> = packages.iter().copied().filter(|package| !text_of(package).is_file()).collect();
    if !missing.is_empty() {
        let archives = directory.join("packages");
        fs::create_dir_all(&archives).map_err(Error::io(format!("creating {}", archives.display())))?;
        download(supervisor, &archives, &missing)?;
        for package in missing {
            extract(supervisor, &archives, package, &text_of(package))?;
        }
    }
    Ok(packages.iter().copied().map(text_of).collect())
}

/// Downloads packages without installing them; refreshes the package lists if they are missing.
fn download(supervisor: &Supervisor, directory: &Path, packages: &[&str]) -> Result<(), Error> {
    let apt = |arguments: &[&str]| -> Result<bool, Error> {
        // As root, apt would otherwise change to a user who may not write here.
        let mut command = Command::new("apt-get");
        command.args(["--quiet", "--quiet", "-o", "APT::Sandbox::User=root"]).args(arguments).current_dir(directory);
        // Standard output belongs to the benchmark.
        command.stdout(std::io::stderr());
        Ok(supervisor.run("apt-get", &mut command)?.success())
    };
    let download: Vec<&str> = ["download"].iter().chain(packages).copied().collect();
    if apt(&download)? {
        return Ok(());
    }
    let refreshed = nix::unistd::geteuid().is_root() && apt(&["update"])?;
    if refreshed && apt(&download)? {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "the texts to count false hits on could not be fetched ({}): this needs apt-get, the package lists of \
         Debian 12 (`apt-get update`, as root) and a connection to its mirror",
        packages.join(", ")
    )))
}

/// Unpacks a package and writes all its documentation to one text.
fn extract(supervisor: &Supervisor, archives: &Path, package: &str, text: &Path) -> Result<(), Error> {
    let tree = archives.join(package);
    let prefix = format!("{package}_");
    let archive = entries(archives)?
        .into_iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
        .ok_or_else(|| Error::Refused(format!("apt-get left no archive of {package} in {}", archives.display())))?;
    let unpacked = supervisor.run("dpkg-deb", Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&tree))?;
    if !unpacked.success() {
        return Err(Error::Refused(format!("{} cannot be unpacked ({unpacked})", archive.display())));
    }
    // gzip prints many warnings about links; only the extracted text matters.
    supervisor.run("gzip", Command::new("gzip").args(["-dfrq"]).arg(&tree).stderr(Stdio::null()))?;
    let mut files = Vec::new();
    walk(&tree, &tree, &mut files)?;
    // If there is HTML, the plain text has the same content.
    let has_markup = files.iter().any(|(_, format)| *format == Format::Markup);
    let mut all = String::new();
    for (path, format) in files.iter().filter(|(_, format)| !(has_markup && *format == Format::Plain)) {
        let bytes = fs::read(path).map_err(Error::io(format!("reading {}", path.display())))?;
        // Files in other encodings are in other languages.
        let Ok(source) = String::from_utf8(bytes) else { continue };
        if !source.contains('\0') {
            all.push_str(&text::readable(*format, &source));
            all.push_str("\n\n");
        }
    }
    if text::words(&all) < 10_000 {
        return Err(Error::Refused(format!("{} holds hardly any text", archive.display())));
    }
    fs::remove_dir_all(&tree).map_err(Error::io(format!("removing {}", tree.display())))?;
    // Renamed at the end, so that an existing file is complete.
    let unfinished = text.with_extension("unfinished");
    fs::write(&unfinished, all).map_err(Error::io(format!("writing {}", unfinished.display())))?;
    fs::rename(&unfinished, text).map_err(Error::io(format!("renaming to {}", text.display())))
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = || Error::io(format!("reading {}", directory.display()));
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed())? {
        paths.push(entry.map_err(failed())?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Every documentation file below a directory, ordered by path; links are skipped.
fn walk(root: &Path, directory: &Path, files: &mut Vec<(PathBuf, Format)>) -> Result<(), Error> {
    for path in entries(directory)? {
        let kind = fs::symlink_metadata(&path).map_err(Error::io(format!("reading {}", path.display())))?;
        if kind.is_dir() {
            walk(root, &path, files)?;
        } else if kind.is_file()
            && let Some(format) = path.strip_prefix(root).ok().and_then(|path| text::format_of(path.to_str()?))
        {
            files.push((path, format));
        }
    }
    Ok(())
}
