//! What this machine has, and which tests are skipped if something is missing: by name, with the reason, and never in
//! CI.

use super::{Count, Skipped, Suite, build::run, results};
use crate::error::Error;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Whether this is a run of continuous integration, where nothing may be skipped.
#[allow(clippy::disallowed_methods)]
fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}

const GB: u64 = 1_000_000_000;

/// What a run in a clean checkout writes: the build, the environments of Python and Node.js, the stacks.
const CLEAN_RUN: u64 = 12 * GB;

/// What a run writes where an earlier one left its build.
const NEXT_RUN: u64 = 4 * GB;

/// Refuses to begin where the disk is too small for the run, which would fail half an hour later.
pub(super) fn require_disk(root: &Path) -> Result<(), Error> {
    let failed =
        |error: nix::Error| Error::io(format!("asking for the free space at {}", root.display()))(error.into());
    let disk = nix::sys::statvfs::statvfs(root).map_err(failed)?;
    #[allow(clippy::useless_conversion, reason = "not all systems have 64 bits here")]
    let (blocks, size) = (u64::from(disk.blocks_available()), u64::from(disk.fragment_size()));
    // The last step that needs all programs leaves these results.
    let is_built = root.join(results::DIRECTORY).join("stack.json").exists();
    check_space(blocks.saturating_mul(size), is_built).map_err(Error::Refused)
}

fn check_space(free: u64, is_built: bool) -> Result<(), String> {
    let (what, needed) = if is_built { ("the run", NEXT_RUN) } else { ("a run in a clean checkout", CLEAN_RUN) };
    if free >= needed {
        return Ok(());
    }
    Err(format!("the disk has {:.1} GB left, and {what} needs {}", free as f64 / GB as f64, needed / GB))
}

/// Notes a test that cannot run here; in CI that is a failure.
pub(super) fn skip(suite: &Suite, skipped: Skipped) -> Result<Count, Error> {
    skip_unless(is_ci(), suite, skipped)
}

/// Notes a test that cannot run here although its installation was attempted, in CI too: nothing in the repository can
/// change that.
pub(super) fn skip_uninstallable(suite: &Suite, skipped: Skipped) -> Result<Count, Error> {
    skip_unless(false, suite, skipped)
}

/// Installs packages of the distribution, if this is an administrator on a machine with apt.
pub(super) fn install(suite: &Suite, packages: &[&str]) -> Result<(), Error> {
    if !nix::unistd::geteuid().is_root() || program("apt-get").is_none() {
        return Err(Error::Refused(format!("{} cannot be installed by this user", packages.join(", "))));
    }
    let apt = |name, arguments: &[&str]| {
        run(suite, name, Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt("apt-get update", &["update", "--quiet"])?;
    let install = ["install", "--quiet", "--yes", "--no-install-recommends"];
    apt("apt-get install", &[&install[..], packages].concat()).map(drop)
}

fn skip_unless(is_ci: bool, suite: &Suite, skipped: Skipped) -> Result<Count, Error> {
    let Skipped { what, reason, enable } = &skipped;
    if is_ci {
        return Err(Error::Refused(format!("{what} cannot run here: {reason}; {enable}. Nothing is skipped in CI")));
    }
    eprintln!("skipped: {what}: {reason}; {enable}");
    suite.skipped().push(skipped);
    Ok(Count::default())
}

/// A browser and its driver.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Browser {
    pub(super) browser: PathBuf,
    pub(super) driver: PathBuf,
}

/// The names of the programs, and their install locations outside PATH. Chrome, Chromium and Edge are the same browser
/// to their drivers, but a driver starts only its own.
const BROWSERS: [(&[&str], &str); 3] = [
    (&["chromium", "chromium-browser", "/Applications/Chromium.app/Contents/MacOS/Chromium"], "chromedriver"),
    (
        &[
            "google-chrome",
            "google-chrome-stable",
            "chrome",
            "/opt/google/chrome/chrome",
            "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        ],
        "chromedriver",
    ),
    (
        &[
            "microsoft-edge",
            "microsoft-edge-stable",
            "/opt/microsoft/msedge/msedge",
            "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
        ],
        "msedgedriver",
    ),
];

/// Folders outside PATH that may contain drivers.
const DRIVER_FOLDERS: [&str; 3] = ["/usr/lib/chromium", "/usr/lib/chromium-browser", "/snap/bin"];

/// The first browser whose driver is installed.
pub(super) fn browser() -> Option<Browser> {
    browser_by(&|name| program(name))
}

fn browser_by(find: &dyn Fn(&str) -> Option<PathBuf>) -> Option<Browser> {
    BROWSERS.iter().find_map(|(names, driver)| {
        let browser = names.iter().find_map(|name| find(name))?;
        let beside = DRIVER_FOLDERS.iter().find_map(|folder| find(&format!("{folder}/{driver}")));
        Some(Browser { browser, driver: find(driver).or(beside)? })
    })
}

/// The path of a program: a name is searched on PATH, an absolute path is used as it is.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    let is_program =
        |path: &Path| fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Joining a folder and an absolute path gives the absolute path.
    let mut places = std::env::split_paths(&path).chain([PathBuf::from("/")]).map(|folder| folder.join(name));
    places.find(|place| is_program(place) && (name.starts_with('/') || place.parent() != Some(Path::new("/"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{local_dir::LocalDir, processes::Supervisor};
    use std::sync::Mutex;

    fn having(there: &'static [&'static str]) -> Option<Browser> {
        browser_by(&|name| there.contains(&name).then(|| PathBuf::from(name)))
    }

    #[test]
    fn a_browser_is_found_under_any_of_its_names_with_its_own_driver() {
        let found = |there| having(there).map(|it| it.browser.to_string_lossy().into_owned());
        assert_eq!(found(&["chromium", "chromedriver"]).as_deref(), Some("chromium"));
        assert_eq!(found(&["google-chrome", "chromedriver"]).as_deref(), Some("google-chrome"));
        assert_eq!(found(&["microsoft-edge", "msedgedriver"]).as_deref(), Some("microsoft-edge"));
        assert_eq!(found(&["chromium", "/usr/lib/chromium/chromedriver"]).as_deref(), Some("chromium"));
        assert_eq!(found(&["chromium", "microsoft-edge", "msedgedriver"]).as_deref(), Some("microsoft-edge"));
        assert_eq!(found(&["microsoft-edge", "chromedriver"]), None);
        assert_eq!((found(&["chromium"]), found(&["chromedriver"]), found(&[])), (None, None, None));
    }

    #[test]
    fn programs_are_found_on_the_path_and_at_their_own() {
        assert!(program("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(program("/bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!((program("no-such-program"), program("/no/such/program")), (None, None));
    }

    #[test]
    fn a_disk_that_is_too_small_is_named_with_both_figures() {
        assert_eq!(check_space(CLEAN_RUN, false), Ok(()));
        let refused = check_space(CLEAN_RUN - GB / 2, false).unwrap_err();
        assert_eq!(refused, "the disk has 11.5 GB left, and a run in a clean checkout needs 12");
        assert_eq!(check_space(NEXT_RUN, true), Ok(()));
        assert!(check_space(NEXT_RUN - 1, true).is_err());
    }

    #[test]
    fn what_is_skipped_is_named_and_fails_in_ci() -> Result<(), Error> {
        let stack = LocalDir::new(Some(std::env::temp_dir().join(format!("oracle-suite-{}", std::process::id()))))?;
        let suite = Suite {
            program: PathBuf::new(),
            root: PathBuf::new(),
            supervisor: Supervisor::new(&stack),
            stacks: std::array::from_fn(|_| stack.clone()),
            skipped: Mutex::default(),
            failures: Mutex::default(),
        };
        let skipped = || Skipped { what: "pages", reason: "no browser".to_owned(), enable: "install one" };
        let refused = skip_unless(true, &suite, skipped()).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(refused, "pages cannot run here: no browser; install one. Nothing is skipped in CI");
        assert!(suite.skipped().is_empty());
        assert_eq!(skip_unless(false, &suite, skipped())?, Count::default());
        assert_eq!(suite.skipped()[0].what, "pages");
        Ok(())
    }
}
