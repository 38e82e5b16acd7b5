//! Starts the sandbox and prints its address.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use sandbox::{Clock, Config, ConfigChange, Identifiers, Sandbox};

/// Look-alikes of Stripe, Gemini and Microsoft Graph for local runs and tests.
///
/// Credentials accepted unless configured otherwise: Stripe key sk_test_sandbox, Gemini key sandbox-gemini-key,
/// Graph tenant sandbox-tenant, client sandbox-client, client secret sandbox-client-secret, refresh token
/// sandbox-refresh-token, mailbox oracle@42sisters.ai, webhook secret whsec_sandbox.
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
    /// Where webhooks go, if not to SITE/api/webhook
    #[arg(long, value_name = "URL")]
    webhook_url: Option<String>,
    /// Secret that signs webhooks
    #[arg(long, value_name = "whsec_…")]
    webhook_secret: Option<String>,
    /// The Stripe key to accept
    #[arg(long, value_name = "KEY")]
    stripe_key: Option<String>,
    /// The Gemini key to accept
    #[arg(long, value_name = "KEY")]
    gemini_key: Option<String>,
    /// Directory (tenant) of the mailbox
    #[arg(long, value_name = "TENANT")]
    graph_tenant: Option<String>,
    /// Application (client) id to accept
    #[arg(long, value_name = "ID")]
    graph_client: Option<String>,
    /// Client secret to accept
    #[arg(long, value_name = "SECRET")]
    graph_client_secret: Option<String>,
    /// Refresh token to accept
    #[arg(long, value_name = "TOKEN")]
    graph_refresh_token: Option<String>,
    /// Owner of the mailbox
    #[arg(long, value_name = "ADDRESS")]
    graph_sender: Option<String>,
    /// A file that every call and every event is added to, one JSON object a line
    #[arg(long, value_name = "FILE")]
    record: Option<std::path::PathBuf>,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = format!("sandbox: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                text = format!("{text}: {cause}");
                source = cause.source();
            }
            // If standard error is closed, the error cannot be shown.
            drop(writeln!(std::io::stderr(), "{text}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let port = arguments.port;
    let change = ConfigChange {
        site: arguments.site,
        webhook_url: arguments.webhook_url,
        webhook_secret: arguments.webhook_secret,
        stripe_key: arguments.stripe_key,
        gemini_key: arguments.gemini_key,
        graph_tenant: arguments.graph_tenant,
        graph_client: arguments.graph_client,
        graph_client_secret: arguments.graph_client_secret,
        graph_refresh_token: arguments.graph_refresh_token,
        graph_sender: arguments.graph_sender,
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
