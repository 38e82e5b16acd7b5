//! A browser on the running stack: one per test and one test at a time, because all tests share the sandbox's faults.
//! The file has more than 300 lines because everything that a test does with a page is a method of one type.

use crate::driver::Driver;
use crate::stack::{Stack, eventually, poll, target_directory};
use base64::{Engine, engine::general_purpose::STANDARD};
use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::elements::Element;
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};

static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// The time limit for a page to appear; a verdict's limit is [`VERDICT`].
const PAGE: Duration = Duration::from_secs(15);
/// The time limit from the payment to the verdict on the page.
pub(crate) const VERDICT: Duration = Duration::from_secs(60);
/// The viewports in which every page is checked: a phone and a laptop.
pub(crate) const VIEWPORTS: [(u32, u32); 2] = [(360, 780), (1280, 900)];

/// What a page's requests travel over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Network {
    Plain,
    Slow,
    Off,
}

/// The browser, the stack that it visits, and the lock that keeps other tests waiting.
pub(crate) struct Browser {
    pub(crate) stack: Stack,
    client: Client,
    http: reqwest::Client,
    session: String,
    _driver: Driver,
    _turn: MutexGuard<'static, ()>,
}

impl Browser {
    /// Waits for the lock and opens a browser with an empty profile.
    pub(crate) async fn open() -> Self {
        let turn = ONE_AT_A_TIME.lock().await;
        let stack = Stack::running();
        let driver = Driver::start();
        let capabilities = json!({
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": { "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--lang=en-CA",
                format!("--user-data-dir={}", driver.profile.display()),
            ] },
        });
        let mut capabilities = capabilities;
        if let Some(browser) = std::env::var_os("ORACLE_BROWSER") {
            let browser = browser.to_string_lossy();
            capabilities["goog:chromeOptions"]["binary"] = json!(browser);
            if browser.to_lowercase().contains("edge") {
                // Edge is the same browser, but its driver uses other names.
                capabilities["browserName"] = json!("MicrosoftEdge");
                capabilities["ms:edgeOptions"] = capabilities["goog:chromeOptions"].take();
                capabilities["ms:loggingPrefs"] = capabilities["goog:loggingPrefs"].take();
                if let Value::Object(all) = &mut capabilities {
                    all.retain(|name, _| !name.starts_with("goog:"));
                }
            }
        }
        let Value::Object(capabilities) = capabilities else { unreachable!("an object literal") };
        let client = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new())
            .capabilities(capabilities)
            .connect(&driver.address())
            .await
            .expect("the browser starts");
        let id = client.session_id().await.expect("the driver answers").expect("there is a session");
        let session = format!("{}/session/{id}", driver.address());
        let http = reqwest::Client::new();
        let browser = Self { stack, client, http, session, _driver: driver, _turn: turn };
        browser.viewport(VIEWPORTS[1]).await;
        browser
    }

    /// A browser that shows a path of the site.
    pub(crate) async fn at(path: &str) -> Self {
        let browser = Self::open().await;
        browser.visit(path).await;
        browser
    }

    /// A browser that runs a script before every page, with the result page of a session.
    pub(crate) async fn at_result(session_id: &str, script: &str) -> Self {
        let browser = Self::open().await;
        browser.before_every_page(script).await;
        browser.visit_result(session_id).await;
        browser
    }

    /// Makes a call of the driver that is not part of the WebDriver standard.
    async fn driver_call(&self, path: &str, body: Value) -> Value {
        let url = format!("{}/{path}", self.session);
        let reply = self.http.post(&url).json(&body).send().await.expect("the driver answers");
        let mut reply: Value = reply.json().await.expect("the driver speaks JSON");
        assert!(reply["value"]["error"].is_null(), "{path} {body}: {reply}");
        reply["value"].take()
    }

    /// Runs a command of the DevTools protocol.
    async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.driver_call("goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await
    }

    /// Gives the window a size.
    pub(crate) async fn viewport(&self, (width, height): (u32, u32)) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// Sets the colour scheme that pages see: light or dark.
    pub(crate) async fn colour_scheme(&self, scheme: &str) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// Sets the preference for reduced motion.
    pub(crate) async fn reduced_motion(&self) {
        let features = json!({ "features": [{ "name": "prefers-reduced-motion", "value": "reduce" }] });
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// Shows pages as they are printed.
    pub(crate) async fn print_media(&self, is_printed: bool) {
        let media = json!({ "media": if is_printed { "print" } else { "" } });
        self.devtools("Emulation.setEmulatedMedia", media).await;
    }

    /// Gives pages another network from here on.
    pub(crate) async fn network(&self, network: Network) {
        let (offline, latency, throughput) = match network {
            Network::Plain => (false, 0, -1),
            // Two seconds there and back, 400 kbit a second.
            Network::Slow => (false, 2000, 50_000),
            Network::Off => (true, 0, 0),
        };
        let conditions = json!({ "offline": offline, "latency": latency, "downloadThroughput": throughput,
            "uploadThroughput": throughput });
        self.devtools("Network.enable", json!({})).await;
        self.devtools("Network.emulateNetworkConditions", conditions).await;
    }

    /// Runs a script before every later page, as if the page began with it.
    pub(crate) async fn before_every_page(&self, script: &str) {
        self.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script })).await;
    }

    /// Runs a script in the page and returns its value.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, vec![]).await.expect("the script runs")
    }

    /// Waits until an expression in the page has a value.
    pub(crate) async fn becomes(&self, expression: &str, value: Value) {
        let script = format!("return {expression}");
        let there = poll(VERDICT, async || (self.run(&script).await == value).then_some(())).await;
        assert!(there.is_some(), "{expression} is {} and not {value}", self.run(&script).await);
    }

    /// What is wrong with the page for people who read or use it in another way than most, in either viewport, one line
    /// each.
    pub(crate) async fn problems(&self) -> Value {
        let mut problems = Vec::new();
        for (width, height) in VIEWPORTS {
            self.viewport((width, height)).await;
            let found = self.problems_here().await;
            let found = found.as_array().expect("a list of problems").iter();
            problems.extend(found.map(|problem| Value::from(format!("{width} pixels wide: {problem}"))));
        }
        Value::Array(problems)
    }

    /// Checks that the page is accessible in both colour schemes and every viewport, and stores screenshots.
    pub(crate) async fn assert_accessible(&self, what: &str) {
        for scheme in ["dark", "light"] {
            self.colour_scheme(scheme).await;
            assert_eq!(self.problems().await, Value::Array(Vec::new()), "{what}, {scheme}");
            self.look(&format!("{what}-{scheme}")).await;
        }
    }

    /// Checks that the page is accessible in every viewport, and stores screenshots.
    pub(crate) async fn inspect(&self, name: &str) {
        assert_eq!(self.problems().await, Value::Array(Vec::new()), "{name}");
        self.look(name).await;
    }

    async fn problems_here(&self) -> Value {
        let file = target_directory().join("page-tests/node_modules/axe-core/axe.min.js");
        let axe = std::fs::read_to_string(file).expect("the packages of infra/page-tests are in target/page-tests");
        self.run(&format!("{axe};\n{}", include_str!("accessibility.js"))).await
    }

    /// Opens a path of the site.
    pub(crate) async fn visit(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.stack.site)).await.expect("the page opens");
    }

    /// Opens a page in a file.
    pub(crate) async fn open_file(&self, file: &std::path::Path) {
        self.client.goto(&format!("file://{}", file.display())).await.expect("the page opens");
    }

    /// Opens the result page of a session.
    pub(crate) async fn visit_result(&self, session_id: &str) {
        self.visit(&format!("/oracle/result?session_id={session_id}")).await;
    }

    /// The browser's current address.
    pub(crate) async fn address(&self) -> String {
        self.client.current_url().await.expect("the driver answers").to_string()
    }

    /// Waits until the browser is at an address that starts with `start`.
    pub(crate) async fn arrive(&self, start: &str) -> String {
        eventually(&format!("the browser to go to {start}"), PAGE, async || {
            let address = self.address().await;
            address.starts_with(start).then_some(address)
        })
        .await
    }

    /// Waits until an element is visible; if it does not become visible, the failure shows the page's text.
    pub(crate) async fn see_within(&self, selector: &str, within: Duration) -> Element {
        let seen = poll(within, async || {
            let element = self.client.find(Locator::Css(selector)).await.ok()?;
            element.is_displayed().await.ok()?.then_some(element)
        })
        .await;
        if let Some(element) = seen {
            return element;
        }
        let page = self.run("return document.body?.innerText").await;
        let complaints = self.complaints().await;
        panic!("waited {within:?} for {selector} on {}, which shows {page}; {complaints:#?}", self.address().await)
    }

    /// Waits until an element of a loading page is visible.
    pub(crate) async fn see(&self, selector: &str) -> Element {
        self.see_within(selector, PAGE).await
    }

    /// Whether an element exists and is visible now.
    pub(crate) async fn sees(&self, selector: &str) -> bool {
        match self.client.find(Locator::Css(selector)).await {
            Ok(element) => element.is_displayed().await.expect("the driver answers"),
            Err(_) => false,
        }
    }

    /// The visible text of an element.
    pub(crate) async fn text(&self, selector: &str) -> String {
        self.see(selector).await.text().await.expect("the driver answers")
    }

    /// The text of an element as it is in the document.
    pub(crate) async fn exact_text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector({}).textContent", Value::from(selector));
        self.run(&script).await.as_str().unwrap_or_default().to_owned()
    }

    /// The computed value of a style property.
    pub(crate) async fn style(&self, selector: &str, property: &str) -> String {
        self.see(selector).await.css_value(property).await.expect("the driver answers")
    }

    /// Clicks an element.
    pub(crate) async fn click(&self, selector: &str) {
        self.see(selector).await.click().await.expect("it can be clicked");
    }

    /// Types into a field.
    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        self.see(selector).await.send_keys(text).await.expect("it takes text");
    }

    /// Types into a field, and clicks a button.
    pub(crate) async fn submit(&self, field: &str, text: &str, button: &str) {
        self.type_into(field, text).await;
        self.click(button).await;
    }

    /// Presses keys one after the other; they go to the focused element.
    pub(crate) async fn press(&self, keys: &str) {
        let actions = keys.chars().fold(KeyActions::new("keyboard".to_owned()), |actions, value| {
            actions.then(KeyAction::Down { value }).then(KeyAction::Up { value })
        });
        self.client.perform_actions(actions).await.expect("keys can be pressed");
    }

    /// Checks the page's current state in both viewports: nothing may be wider than the window. Stores a screenshot of
    /// each viewport in `target/screenshots`.
    pub(crate) async fn look(&self, name: &str) {
        let directory = target_directory().join("screenshots");
        std::fs::create_dir_all(&directory).expect("the directory of screenshots can be made");
        for (width, height) in VIEWPORTS {
            self.viewport((width, height)).await;
            let size = self.run("const e = document.documentElement; return [e.scrollWidth, e.scrollHeight]").await;
            let clip = json!({ "x": 0, "y": 0, "width": width, "height": size[1], "scale": 1 });
            let options = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
            let picture = self.devtools("Page.captureScreenshot", options).await;
            let bytes = STANDARD.decode(picture["data"].as_str().unwrap_or_default()).expect("base64");
            std::fs::write(directory.join(format!("{name}-{width}.png")), bytes).expect("it can be written");
            assert_eq!(size[0], width, "{name}: wider than a window of {width} pixels");
        }
    }

    /// The errors in the browser's console from the site's pages, policy violations included. An error status as the
    /// reply to a page's own API request does not count.
    async fn complaints(&self) -> Vec<String> {
        let entries = self.driver_call("se/log", json!({ "type": "browser" })).await;
        let message = |entry: &Value| entry["message"].as_str().unwrap_or_default().to_owned();
        let api = format!("{}/api/", self.stack.site);
        let severe = entries.as_array().into_iter().flatten().filter(|entry| entry["level"] != "INFO").map(message);
        severe.filter(|text| text.starts_with(&self.stack.site) && !text.starts_with(&api)).collect()
    }

    /// Ends a test: the console must have no errors.
    pub(crate) async fn close(self) {
        let complaints = self.complaints().await;
        assert!(complaints.is_empty(), "the browser's console: {complaints:#?}");
    }
}
