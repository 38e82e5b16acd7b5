//! Simulates Stripe, Gemini, Microsoft Graph and its login service, Amazon SES, and an x402 facilitator with its chain
//! over HTTP, as strict as the vendors, with faults on request, a hosted pay page, a customer portal, and pages of the
//! mailbox and of alerts.

mod alerts;
mod calls;
mod chain;
mod config;
mod control;
mod credentials;
mod faults;
mod gemini;
mod graph;
mod http;
mod identifiers;
mod login;
mod pages;
mod server;
mod ses;
mod state;
mod stream;
mod stripe;
mod target;
mod tokens;
mod webhook;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::{net::TcpListener, task::JoinHandle};

pub use config::{Config, ConfigChange, ConfigError};
pub use identifiers::{Clock, Identifiers};
pub use webhook::with_causes;

/// The time-out of webhooks: longer than a gateway's.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a sandbox could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port could not be opened, most likely because it is taken.
    #[error("cannot listen on 127.0.0.1:{port}: choose another port, or 0 for any free one")]
    Listen {
        /// The requested port.
        port: u16,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A data file of the sandbox is invalid.
    #[error("a data file cannot be read")]
    Data(#[from] toml::de::Error),
    /// The client that delivers webhooks could not be built.
    #[error("the webhook client cannot be built")]
    Client(#[from] reqwest::Error),
}

/// A running sandbox; it stops when this is dropped.
pub struct Sandbox {
    address: SocketAddr,
    task: JoinHandle<std::convert::Infallible>,
}

impl Sandbox {
    /// Starts a sandbox on the loopback interface; port 0 takes a free one.
    ///
    /// # Errors
    /// When the port is taken or a data file is invalid.
    pub async fn start(port: u16, config: Config, clock: Clock, identifiers: Identifiers) -> Result<Self, StartError> {
        let listen = |source| StartError::Listen { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        // Webhooks stay on this machine: no proxy, and a redirect counts as a failure, as with Stripe.
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(WEBHOOK_TIMEOUT)
            .build()?;
        let url = format!("http://{address}");
        let state = state::State::new(config, url, clock, identifiers)?;
        let task = tokio::spawn(server::serve(listener, state::Shared::new(state, client)));
        Ok(Self { address, task })
    }

    /// Its address, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Runs until the process ends.
    pub async fn run(mut self) {
        // Serving never ends; the task returns only after a panic.
        drop((&mut self.task).await);
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.task.abort();
    }
}
