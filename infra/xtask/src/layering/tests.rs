use super::*;

fn package(folder: &str, ours: &[&str]) -> Package {
    let ours = ours.iter().map(|name| (*name).to_owned()).collect();
    Package { folder: folder.to_owned(), ours, ..Package::default() }
}

/// A crate of every kind, each with the dependencies of the design.
fn design() -> Packages {
    [
        ("domain", "shared/domain", &[] as &[&str]),
        ("filter", "shared/rules/filter", &["domain"]),
        ("crosscheck", "shared/rules/crosscheck", &["domain"]),
        ("audit", "shared/audit", &["domain"]),
        ("audit-verify", "shared/audit/verify", &["audit", "domain"]),
        ("authority", "shared/rules/authority", &["filter"]),
        ("lens", "shared/memory/lens", &[]),
        ("memory", "shared/memory", &["domain", "filter", "lens"]),
        ("stripe", "shared/vendors/stripe", &["domain"]),
        ("graph", "shared/vendors/graph", &["domain"]),
        ("aws", "shared/platform/aws", &["domain"]),
        ("runtime", "shared/platform/runtime", &["domain"]),
        ("backend", "shared/platform/backend", &["audit", "aws", "domain", "runtime", "stripe"]),
        ("gates", "shared/pipeline/gates", &["audit", "domain", "filter"]),
        ("operations", "shared/pipeline/operations", &["audit-verify", "gates"]),
        ("delivery", "shared/pipeline/delivery", &["backend", "gates", "graph"]),
        ("testkit", "shared/testkit", &["audit-verify", "domain"]),
        ("verdict", "functions/verdict", &["backend", "delivery", "filter", "runtime"]),
        ("result", "functions/result", &["backend"]),
        ("audit-digest", "functions/audit-digest", &["audit-verify"]),
        ("oracle-cli", "infra/oracle", &["operations", "audit-verify"]),
        ("sandbox", "infra/sandbox", &[]),
        ("xtask", "infra/xtask", &[]),
        ("tests", "tests", &["result", "testkit", "verdict"]),
        ("simulation", "tests/sim", &["testkit", "verdict"]),
    ]
    .into_iter()
    .map(|(name, folder, ours)| (name.to_owned(), package(folder, ours)))
    .collect()
}

/// The violations if one crate of the design uses one more crate.
fn with(name: &str, used: &str) -> Vec<String> {
    let mut packages = design();
    packages.get_mut(name).unwrap().ours.insert(used.to_owned());
    violations(&packages)
}

#[test]
fn the_design_itself_is_allowed() {
    assert_eq!(violations(&design()), Vec::<String>::new());
}

#[test]
fn every_forbidden_direction_is_named() {
    for (name, used) in [
        ("domain", "audit"),
        ("filter", "crosscheck"),
        ("filter", "audit"),
        ("authority", "crosscheck"),
        ("memory", "audit"),
        ("lens", "domain"),
        ("audit", "filter"),
        ("stripe", "graph"),
        ("stripe", "runtime"),
        ("aws", "audit"),
        ("runtime", "aws"),
        ("backend", "delivery"),
        ("gates", "delivery"),
        ("gates", "runtime"),
        ("gates", "stripe"),
        ("delivery", "verdict"),
        ("verdict", "result"),
        ("verdict", "testkit"),
        ("verdict", "operations"),
        ("verdict", "audit-verify"),
        ("sandbox", "domain"),
        ("xtask", "domain"),
        ("oracle-cli", "verdict"),
        ("testkit", "aws"),
    ] {
        let lines = with(name, used);
        assert_eq!(lines.len(), 1, "{name} depends on {used}: {lines:?}");
        assert!(lines[0].starts_with(&format!("{name} depends on {used};")), "{}", lines[0]);
    }
}

#[test]
fn a_violation_says_what_is_allowed_and_why() {
    assert_eq!(
        with("filter", "audit"),
        ["filter depends on audit; a crate of shared/rules may depend on shared/domain"]
    );
    let why = "the look-alikes share nothing with the code they try, so that no mistake can be on both sides";
    assert_eq!(
        with("sandbox", "domain"),
        [format!("sandbox depends on domain; it may depend on nothing of ours: {why}")]
    );
    assert!(with("verdict", "operations")[0].contains("only oracle-cli may: "));
}

#[test]
fn a_pure_crate_with_the_world_in_it_is_named() {
    let mut packages = design();
    let theirs = ["serde", "tokio-util", "aws-sdk-s3"].map(str::to_owned);
    packages.get_mut("gates").unwrap().theirs = theirs.clone().into();
    packages.get_mut("delivery").unwrap().theirs = theirs.into();
    let clock = ("src/lib.rs".into(), "let now = jiff::Timestamp::now();".to_owned());
    packages.get_mut("filter").unwrap().sources = [clock].into();
    assert_eq!(
        violations(&packages),
        [
            "filter is pure but src/lib.rs calls Timestamp::now",
            "gates is pure but pulls in aws-sdk-s3",
            "gates is pure but pulls in tokio-util",
        ]
    );
}

#[test]
fn only_the_memory_makes_what_models_see() {
    let mut packages = design();
    let source = |name: &str| (PathBuf::from("src/lib.rs"), format!("let set = {name}(content);"));
    packages.get_mut("memory").unwrap().sources = [source("WorkingSet::seal")].into();
    packages.get_mut("lens").unwrap().sources = [source("WorkingSet::seal")].into();
    assert_eq!(violations(&packages), Vec::<String>::new());
    let verdict = packages.get_mut("verdict").unwrap();
    verdict.ours.insert("lens".to_owned());
    verdict.sources = [source("WorkingSet::parse")].into();
    assert_eq!(violations(&packages), Vec::<String>::new());
    packages.get_mut("verdict").unwrap().sources = [source("lens::WorkingSet::seal")].into();
    let lines = violations(&packages);
    assert!(lines.len() == 1 && lines[0].starts_with("verdict: src/lib.rs mentions WorkingSet::seal"), "{lines:?}");
}

#[test]
fn tests_may_use_the_testkit_but_no_function() {
    let tests_of = |name: &str, used: &str| {
        let mut packages = design();
        packages.get_mut(name).unwrap().ours_in_tests = [used.to_owned()].into();
        violations(&packages)
    };
    assert_eq!(tests_of("verdict", "testkit"), Vec::<String>::new());
    assert_eq!(tests_of("stripe", "filter"), Vec::<String>::new(), "a pure crate");
    let lines = tests_of("verdict", "result");
    assert!(lines.len() == 1 && lines[0].starts_with("verdict's tests depend on result"), "{lines:?}");
}

#[test]
fn the_layer_is_the_folder_and_another_folder_is_named() {
    for (folder, layer) in [
        ("shared/rules/anvil", Some(Rules)),
        ("shared/audit/verify", Some(Audit)),
        ("shared/memory", Some(Memory)),
        ("shared/memory/lens", Some(Memory)),
        ("tests/sim", Some(Tests)),
        ("shared/auditing", None),
        ("shared/audit-verify", None),
        ("shared/rules", None),
        ("shared/rules/filter/data", None),
        ("tools/new", None),
    ] {
        assert_eq!(Layer::of(folder), layer, "{folder}");
    }
    let packages = [("newcomer".to_owned(), package("tools/newcomer", &[]))].into();
    assert!(violations(&packages)[0].starts_with("newcomer: tools/newcomer is the folder of no layer"));
}

#[test]
fn a_long_file_gives_its_reason() {
    let with = |name: &str, first: &str, lines: usize| {
        let mut packages = design();
        let source = format!("{first}\n{}", "fn f() {}\n".repeat(lines - 1));
        packages.get_mut(name).unwrap().sources.insert(PathBuf::from("long.rs"), source);
        violations(&packages)
    };
    let reason = "//! The file has more than 300 lines because it is one list.";
    for name in ["domain", "tests"] {
        assert_eq!((with(name, "", 300), with(name, reason, 301)), (Vec::new(), Vec::new()));
        let [found] = with(name, "//! A list.", 301).try_into().unwrap();
        assert!(found.starts_with(&format!("{name}: long.rs has more than 300 lines")), "{found}");
    }
    let mut packages = design();
    let tests = [("a_list_of_tests.rs", ""), ("a_reason.rs", reason)];
    packages.get_mut("domain").unwrap().tests =
        tests.map(|(path, first)| (PathBuf::from(path), format!("{first}\n{}", "fn f() {}\n".repeat(300)))).into();
    let [found] = violations(&packages).try_into().unwrap();
    assert!(found.starts_with("domain: a_list_of_tests.rs has more than 300 lines"), "{found}");
}

#[test]
fn a_function_that_is_named_as_a_predicate_returns_a_truth() {
    let with = |source: &str| {
        let mut packages = design();
        packages.get_mut("domain").unwrap().sources.insert(PathBuf::from("a.rs"), source.to_owned());
        violations(&packages)
    };
    for predicate in ["fn is_paid() -> bool {}", "fn has_mail<T>(\n    of: T,\n) -> Result<bool, Error>\nwhere {}"] {
        assert_eq!(with(predicate), Vec::<String>::new());
    }
    for (source, name) in
        [("fn is_paid(&mut self) {}", "is_paid"), ("async fn can_pay<T>() -> Result<(), T> {}", "can_pay")]
    {
        let [found] = with(source).try_into().unwrap();
        assert_eq!(found, format!("domain: a.rs names {name} as a predicate, but it does not return a bool"));
    }
}

#[test]
fn files_that_import_one_another_are_named() {
    let mut packages = design();
    for name in ["domain", "simulation"] {
        packages.get_mut(name).unwrap().sources = [
            (PathBuf::from("src/lib.rs"), "mod one;\nmod two;".to_owned()),
            (PathBuf::from("src/one.rs"), "use crate::two::Two;".to_owned()),
            (PathBuf::from("src/two.rs"), "use crate::one::One;".to_owned()),
        ]
        .into();
    }
    let [domain, simulation] = violations(&packages).try_into().unwrap();
    assert!(
        domain.starts_with("domain: src/one.rs takes from src/two.rs, src/two.rs takes from src/one.rs"),
        "{domain}"
    );
    assert!(simulation.starts_with("simulation: src/one.rs takes from src/two.rs"), "{simulation}");
}
