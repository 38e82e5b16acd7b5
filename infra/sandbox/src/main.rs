//! Starts the sandbox and prints its address.

use std::{io::Write, process::ExitCode};

use clap::Parser;
use sandbox::{Clock, Config, ConfigChange, Identifiers, Sandbox, with_causes};

/// Look-alikes of Stripe, Gemini and Microsoft Graph for local runs and tests.
///
/// Credentials accepted: Stripe key sk_test_sandbox, Gemini key sandbox-gemini-key, Graph tenant sandbox-tenant, client
/// sandbox-client, client secret sandbox-client-secret, refresh token sandbox-refresh-token, mailbox
/// oracle@42sisters.ai. Webhooks are signed with whsec_sandbox unless configured otherwise.
#[derive(Parser)]
#[command(after_help = "Example:\n  \
    sandbox --port 0 --site http://127.0.0.1:8080 --webhook-secret whsec_local\n  \
    prints {\"listening\":\"http://127.0.0.1:PORT\"} once it answers; open that address for the list of calls")]
struct Arguments {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 8090)]
    port: u16,
    /// Address of the site; webhooks go to SITE/api/webhook
    #[arg(long, value_name = "URL")]
    site: Option<String>,
    /// Secret that signs webhooks
    #[arg(long, value_name = "whsec_…")]
    webhook_secret: Option<String>,
    /// A file that every call and every event is added to, one JSON object a line
    #[arg(long, value_name = "FILE")]
    record: Option<std::path::PathBuf>,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, the error cannot be shown.
            drop(writeln!(std::io::stderr(), "sandbox: {}", with_causes(&*error)));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let port = arguments.port;
    let change = ConfigChange {
        site: arguments.site,
        webhook_secret: arguments.webhook_secret,
        record: arguments.record,
        ..ConfigChange::default()
    };
    let config = change.apply(&Config::default())?;
    let identifiers = Identifiers::random()?;
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(async {
        let sandbox = Sandbox::start(port, config, Clock::system(), identifiers).await?;
        let line = serde_json::json!({"listening": sandbox.url()});
        let mut output = std::io::stdout();
        writeln!(output, "{line}")?;
        output.flush()?;
        sandbox.run().await;
        Ok(())
    })
}
