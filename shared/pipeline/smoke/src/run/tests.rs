//! Runs against a simulated pipeline, of which every part can fail.
//! The file has more than 300 lines because the pipeline implements the ports of all stages, and the tests change
//! its private fields.

use super::*;
use crate::ports::{Network, Reply, Site, TestCheckout, Unreachable};
use async_trait::async_trait;
use domain::{
    CachedVerdict, Colour, Query, Sale, Tier, Verdict,
    mail::Mail,
    ports::{CacheEntry, Clock, PaymentError, SaleStore},
    sale::Fulfilment,
    smoke,
};
use serde_json::{Value, json};
use std::sync::Mutex;
use stripe::signature;
use testkit::sale::WithField;
use testkit::{Fault, Plan, World, run as poll};

/// The system under test: a pipeline that works, unless a test breaks it.
struct Pipeline {
    world: World,
    /// The secrets of the smoke test and of Gemini.
    key: &'static str,
    site: Mutex<SiteSays>,
    calls: Mutex<Vec<&'static str>>,
    network: NetworkSays,
    /// The verdict that the pipeline caches.
    cached: CachedVerdict,
    /// The sources of the records in the log.
    records: Vec<&'static str>,
}

/// The result of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NetworkSays {
    Fine,
    Refused,
    Hangs,
}

/// The behaviour of the site.
#[derive(Clone, Copy, PartialEq)]
enum SiteSays {
    Fine,
    Sick,
    CacheFailed,
    Unreachable,
    /// The order is accepted and the sale ends in this way.
    NoVerdict,
    /// The order is accepted and nothing follows.
    Silence,
    /// The order is accepted, the verdict is made, and the mail becomes a dead letter.
    NoMail,
    Hangs,
}

const GOOD_KEY: &str = r#"{"secret_key":"sk_test_1","signing_secret":"whsec_smoke"}"#;
const LIVE_KEY: &str = r#"{"secret_key":"sk_live_1","signing_secret":"whsec_smoke"}"#;
const GEMINI: &str = r#"{"api_key":"g"}"#;
const SESSION: &str = "cs_test_abc123";

const WITHOUT_A_VERDICT: [&str; 10] = ["PASS", "PASS", "PASS", "PASS", "FAIL", "FAIL", "FAIL", "FAIL", "SKIP", "SKIP"];

fn session() -> SessionId {
    SessionId::parse(SESSION).unwrap()
}

fn verdict() -> CachedVerdict {
    let verdict = Verdict {
        verdict: Colour::Green,
        summary: "It runs as it should.".to_owned(),
        breakdown: None,
        strategy: None,
    };
    let query = Query::parse(smoke::QUERY).unwrap();
    let cached = CachedVerdict::first(Tier::Quick, &query, verdict, Timestamp::from_seconds(1_776_322_800));
    CachedVerdict { smoke: true, ..cached }
}

impl Pipeline {
    fn new(site: SiteSays) -> Self {
        let world = World::at(Timestamp::from_seconds(1_776_322_800));
        Self {
            world,
            key: GOOD_KEY,
            site: Mutex::new(site),
            calls: Mutex::default(),
            network: NetworkSays::Fine,
            cached: verdict(),
            records: vec!["webhook", "cache_hit", "email_service"],
        }
    }

    fn says(&self) -> SiteSays {
        *self.site.lock().unwrap()
    }

    fn called(&self, name: &'static str) {
        self.calls.lock().unwrap().push(name);
    }

    fn run(&self, leftovers: &[SessionId]) -> Report {
        let (smoke_secret, gemini_secret) = (self.world.secret(self.key), self.world.secret(GEMINI));
        let ports = Ports {
            smoke_secret: &smoke_secret,
            gemini_secret: &gemini_secret,
            network: self,
            site: self,
            mailbox: &self.world,
            checkout: self,
            store: &self.world,
            entries: &self.world,
            log: &self.world,
            clock: &self.world,
            pause: &self.world,
            randomness: &self.world,
        };
        let settings = Settings {
            addresses: vec!["https://site".to_owned(), "https://graph".to_owned()],
            leftovers: leftovers.to_vec(),
        };
        poll(run(ports, &settings)).unwrap()
    }
}

#[async_trait]
impl Network for Pipeline {
    async fn connect(&self, _url: &str) -> Result<(), Unreachable> {
        self.called("connect");
        match self.network {
            NetworkSays::Fine => Ok(()),
            NetworkSays::Refused => Err(Unreachable("refused".to_owned())),
            NetworkSays::Hangs => std::future::pending().await,
        }
    }
}

#[async_trait]
impl TestCheckout for Pipeline {
    async fn create(&self, _key: &str) -> Result<Created, PaymentError> {
        self.called("create");
        let metadata = json!({ "tier": "quick", "q0": smoke::QUERY, "qn": "1", "smoke": "true" });
        let object = json!({ "id": SESSION, "payment_status": "unpaid", "status": "open", "metadata": metadata });
        Ok(Created { id: session(), object })
    }
}

#[async_trait]
impl Site for Pipeline {
    async fn health(&self) -> Result<Reply, Unreachable> {
        self.called("health");
        match self.says() {
            SiteSays::Unreachable => Err(Unreachable("refused".to_owned())),
            SiteSays::Sick => Ok(Reply { status: 503, body: json!({ "status": "failed" }) }),
            SiteSays::CacheFailed => {
                Ok(Reply { status: 503, body: json!({ "status": "failed", "service": "resonant" }) })
            }
            SiteSays::Hangs => std::future::pending().await,
            _ => Ok(Reply { status: 200, body: json!({ "status": "resonant" }) }),
        }
    }

    async fn webhook(&self, body: &str, header: &str) -> Result<Reply, Unreachable> {
        self.called("webhook");
        if self.says() == SiteSays::Unreachable {
            return Err(Unreachable("refused".to_owned()));
        }
        if self.says() == SiteSays::Hangs {
            std::future::pending().await
        }
        let secret = [Secret::new("whsec_smoke")];
        let verified = signature::verify(header, body.as_bytes(), &secret, self.world.now());
        assert_eq!(verified, Ok(()), "the event has the smoke test's signature");
        let event: Value = serde_json::from_str(body).unwrap();
        assert_eq!((&event["livemode"], &event["data"]["object"]["payment_status"]), (&json!(false), &json!("paid")));
        let mut sale = Sale::ordered(session(), self.world.now());
        let now = self.world.now();
        sale = sale.with("smoke", true);
        match self.says() {
            SiteSays::Silence => {}
            SiteSays::NoVerdict => {
                sale = sale
                    .with("fulfilment", Fulfilment::Failed { reason: "the model answered 503".to_owned(), at: now });
            }
            says => {
                sale = sale.with("fulfilment", Fulfilment::Ready { at: now, archived: true });
                let progress = domain::mail::Progress { failures: vec!["503".to_owned()], ..Default::default() };
                let dead = Mail::Dead { at: now, progress };
                sale = sale.with("mail", if says == SiteSays::NoMail { dead } else { Mail::Sent { at: now } });
                self.world.state().cache_verdict(&session(), &self.cached, now);
                let head = json!({ "opened": "2026-04-16", "count": self.records.len(), "hash": "h" });
                sale = sale.with("audit", head);
                for (number, source) in (1..).zip(&self.records) {
                    let key = format!("2026-04-16/session/{SESSION}/{number:06}.json");
                    let line = json!({ "smoke": true, "event": "pipeline", "source": source });
                    self.world.state().log.insert(key, line.to_string());
                }
            }
        }
        self.world.state().sales.insert(session(), (sale, 1));
        Ok(Reply { status: 200, body: json!({ "received": true }) })
    }

    async fn verdict(&self, session: &SessionId) -> Result<Reply, Unreachable> {
        self.called("verdict");
        let cached = self.world.load_with_verdict(session).await.map_err(|error| Unreachable(error.to_string()))?.1;
        match cached {
            CacheEntry::Hit(cached) => Ok(Reply { status: 200, body: serde_json::to_value(cached).unwrap() }),
            _ => Ok(Reply { status: 404, body: Value::Null }),
        }
    }
}

fn words(report: &Report) -> Vec<&'static str> {
    report.stages.iter().map(|(_, outcome)| outcome.word()).collect()
}

fn failing_alone(stage: Stage) -> Vec<&'static str> {
    let mut expected = vec!["PASS"; 10];
    expected[stage.number() - 1] = "FAIL";
    expected
}

fn error(report: &Report, stage: Stage) -> String {
    match &report.stages[stage.number() - 1].1 {
        Outcome::Fail(failure) => failure.error.clone(),
        other => panic!("{other:?}"),
    }
}

/// Smoke Test, verification criterion 1, and the clean-up: nothing is cached afterwards.
#[test]
fn a_healthy_pipeline_passes_ten_stages_and_is_left_clean_twice() {
    let pipeline = Pipeline::new(SiteSays::Fine);
    for _ in 0..2 {
        let report = pipeline.run(&[]);
        assert_eq!(words(&report), ["PASS"; 10], "{:?}", report.stages);
        assert!(report.leftovers.is_empty() && report.warnings.is_empty());
        assert!(pipeline.world.state().cache.is_empty());
        let text = report.text("log");
        for line in [
            "PASS  session_id=cs_test_abc123\n",
            "PASS  verdict=GREEN\n",
            "PASS  GET /cache/cs_test_abc123 → 200\n",
            "PASS  tier=quick query_match=true\n",
            "PASS  status=sent\n",
            "PASS  C=1.0000 approved=true\n",
            "PASS  cs_test_abc123 deleted\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}

/// The stages read the log: a mail that was sent and not recorded is no success.
#[test]
fn a_log_without_the_page_or_the_mail_fails_the_stage_of_the_mail() {
    for missing in 0..3 {
        let mut pipeline = Pipeline::new(SiteSays::Fine);
        let source = pipeline.records.remove(missing);
        let report = pipeline.run(&[]);
        assert_eq!(error(&report, Stage::EmailSend), "the log does not have all records", "without {source}");
        let Outcome::Fail(failure) = &report.stages[Stage::EmailSend.number() - 1].1 else { panic!("{report:?}") };
        assert_eq!(failure.payload, Some(json!({ "missing": [source] })));
    }
}

/// Smoke Test, invariant 1, verification criterion 3: nothing is called.
#[test]
fn with_a_production_key_nobody_is_called() {
    let pipeline = Pipeline { key: LIVE_KEY, ..Pipeline::new(SiteSays::Fine) };
    let report = pipeline.run(&[session()]);
    assert_eq!(error(&report, Stage::EnvironmentCheck), "FATAL: production Stripe key in smoke test — aborting.");
    assert_eq!(report.ending().exit_code(), 2);
    assert_eq!(words(&report)[1..], ["SKIP"; 9]);
    assert_eq!(*pipeline.calls.lock().unwrap(), Vec::<&str>::new());
    assert_eq!(pipeline.world.state().boundaries, ["secrets.document", "secrets.document"]);
    assert_eq!(report.leftovers, [session()], "what was left is not forgotten");
}

/// Smoke Test, verification criterion 2: an unhealthy service fails its own stage and no other.
#[test]
fn a_sick_service_fails_its_own_stage() {
    let report = Pipeline::new(SiteSays::Sick).run(&[]);
    assert_eq!((words(&report), report.ending().exit_code()), (failing_alone(Stage::TollHealth), 1));
}

#[test]
fn an_unreachable_site_fails_what_needs_it_and_the_others_are_tried() {
    let report = Pipeline::new(SiteSays::Unreachable).run(&[]);
    let expected = ["PASS", "FAIL", "PASS", "PASS", "FAIL", "FAIL", "FAIL", "FAIL", "SKIP", "SKIP"];
    assert_eq!(words(&report), expected);
    assert_eq!(error(&report, Stage::CacheWrite), "no verdict is cached");
    assert_eq!(error(&report, Stage::EmailSend), "there is no sale, so there is no mail");
}

/// Stage 1's TCP check: the connection is refused, or hangs. The exit code is that of a wrong environment, and every
/// other stage still runs.
#[test]
fn an_address_that_takes_no_connection_fails_stage_one_alone() {
    for (network, expected, seconds) in
        [(NetworkSays::Refused, "not reachable: refused", 0), (NetworkSays::Hangs, "TCP connect: no answer in time", 5)]
    {
        let pipeline = Pipeline { network, ..Pipeline::new(SiteSays::Fine) };
        let report = pipeline.run(&[]);
        assert_eq!(error(&report, Stage::EnvironmentCheck), expected);
        assert_eq!((words(&report)[1..].to_vec(), report.ending().exit_code()), (vec!["PASS"; 9], 2), "{network:?}");
        assert_eq!(report.took, Duration::from_secs(seconds), "{network:?}");
        assert_eq!(pipeline.calls.lock().unwrap().iter().filter(|call| **call == "connect").count(), 1);
    }
}

/// The stages after stage 5 see a verdict that came after stage 5 timed out (Smoke Test, invariant 5).
#[test]
fn an_entry_that_is_not_the_smoke_tests_passes_no_stage_that_looks_at_it() {
    let hollow = Verdict { summary: " ".to_owned(), ..verdict().verdict };
    for (what, cached, failing) in [
        ("tier", CachedVerdict { tier: Tier::Full, ..verdict() }, vec![5, 6, 7]),
        ("mark", CachedVerdict { smoke: false, ..verdict() }, vec![5, 10]),
        ("regen", CachedVerdict { regen: true, ..verdict() }, vec![5]),
        ("summary", CachedVerdict { verdict: hollow, ..verdict() }, vec![5]),
        ("query", CachedVerdict { query: "Should I sell?".to_owned(), ..verdict() }, vec![6, 7]),
        ("time", CachedVerdict { cached_at: "9999-99-99T99:99:99.999Z".to_owned(), ..verdict() }, vec![6]),
    ] {
        let report = Pipeline { cached, ..Pipeline::new(SiteSays::Fine) }.run(&[]);
        for stage in failing {
            assert_eq!(report.stages[stage - 1].1.word(), "FAIL", "{what}: stage {stage}");
        }
        assert_ne!(words(&report)[8], "SKIP", "{what}: there is an entry to check");
    }
}

#[test]
fn without_a_verdict_the_stages_behind_it_are_tried_and_report_the_reason() {
    let pipeline = Pipeline::new(SiteSays::NoVerdict);
    let report = pipeline.run(&[]);
    assert_eq!(words(&report), WITHOUT_A_VERDICT);
    for stage in [Stage::WebhookSimulation, Stage::EmailSend] {
        assert_eq!(error(&report, stage), "no verdict: the model answered 503");
    }
    assert_eq!(report.took, Duration::ZERO, "nobody waits for what cannot come");
    assert_eq!(report.text("log").matches("RESULT: 4/10 PASS").count(), 1);
    assert_eq!((report.leftovers.as_slice(), report.warnings.len()), ([session()].as_slice(), 1));
}

#[test]
fn figures_of_the_cache_are_a_warning_and_a_service_that_does_not_work_is_a_failure() {
    let report = Pipeline::new(SiteSays::CacheFailed).run(&[]);
    assert_eq!(words(&report)[1], "PASS");
    assert!(report.text("log").contains("WARNING: the cache is failed"), "{}", report.text("log"));
}

/// Smoke Test, invariant 6: a pipeline that takes longer is degraded, and the test still ends.
#[test]
fn a_silent_pipeline_costs_less_than_a_minute() {
    let report = Pipeline::new(SiteSays::Silence).run(&[]);
    assert_eq!(words(&report), WITHOUT_A_VERDICT);
    assert_eq!(error(&report, Stage::WebhookSimulation), "no answer within 30 s");
    assert_eq!(error(&report, Stage::EmailSend), "no answer within 17 s");
    assert_eq!(report.took, FOR_STAGES - FOR_CLEANUP);
    assert_eq!(report.leftovers, [session()]);
}

/// The entry of an earlier run may come late: it is looked for until it is removed, or can no longer come.
#[test]
fn a_leftover_is_kept_while_its_order_may_be_under_way() {
    let pipeline = Pipeline::new(SiteSays::Fine);
    let late = SessionId::parse("cs_test_late").unwrap();
    let now = pipeline.world.now();
    let is_kept = || {
        let report = pipeline.run(std::slice::from_ref(&late));
        assert!(report.warnings.is_empty() && words(&report) == ["PASS"; 10], "{:?}", report.stages);
        report.leftovers == [late.clone()]
    };
    assert!(is_kept(), "the sale is not there yet");
    let generating = Fulfilment::Generating { owner: "m".to_owned(), lease_until: now };
    for (fulfilment, expected) in [
        (Fulfilment::Ordered { at: now }, true),
        (generating, true),
        (Fulfilment::Failed { reason: "503".to_owned(), at: now }, false),
    ] {
        let sale = Sale::ordered(late.clone(), now).with("fulfilment", fulfilment).with("smoke", true);
        pipeline.world.state().sales.insert(late.clone(), (sale, 1));
        assert_eq!(is_kept(), expected);
    }
    pipeline.world.state().cache_verdict(&late, &verdict(), now);
    assert!(!is_kept());
    assert!(pipeline.world.state().cache.is_empty(), "and one that has come is taken out");
}

#[test]
fn services_that_hang_are_given_up_and_the_whole_ends_within_a_minute() {
    let report = Pipeline::new(SiteSays::Hangs).run(&[]);
    assert_eq!(words(&report)[..5], ["PASS", "FAIL", "PASS", "PASS", "FAIL"]);
    assert_eq!(error(&report, Stage::TollHealth), "no answer within 10 s");
    assert_eq!(error(&report, Stage::WebhookSimulation), "no answer within 30 s");
    assert!(report.took <= FOR_STAGES, "{:?}", report.took);
}

#[test]
fn a_mail_that_was_given_up_fails_stage_eight_alone() {
    let report = Pipeline::new(SiteSays::NoMail).run(&[]);
    assert_eq!(words(&report), failing_alone(Stage::EmailSend));
    assert_eq!(error(&report, Stage::EmailSend), "the mail was given up");
}

#[test]
fn an_entry_that_cannot_be_removed_is_a_failure_and_remembered() {
    let pipeline = Pipeline::new(SiteSays::Fine);
    pipeline.world.plan(Plan::none().whenever("cache.remove", Fault::Fail));
    let report = pipeline.run(&[]);
    assert!(error(&report, Stage::CacheCleanup).starts_with("cache.remove failed"), "{:?}", report.stages);
    assert_eq!(report.leftovers, [session()]);
    // The leftover of an earlier run is only a warning.
    let other = SessionId::parse("cs_test_earlier").unwrap();
    pipeline.world.state().cache.insert(other.clone(), verdict());
    let report = pipeline.run(std::slice::from_ref(&other));
    assert!(report.leftovers.contains(&other));
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
}

/// Smoke Test, invariant 2.
#[test]
fn a_customers_entry_is_never_removed() {
    let pipeline = Pipeline::new(SiteSays::Fine);
    let customers = SessionId::parse("cs_live_1").unwrap();
    pipeline.world.state().cache.insert(customers.clone(), CachedVerdict { smoke: false, ..verdict() });
    pipeline.run(std::slice::from_ref(&customers));
    assert!(pipeline.world.state().cache.contains_key(&customers));
}
