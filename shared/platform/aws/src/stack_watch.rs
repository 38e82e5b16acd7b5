//! Reads from CloudWatch and CloudFormation about a stack while it is deployed.

use crate::{
    Connection,
    attempts::{Failure, Step},
};
use aws_sdk_cloudformation::types::{ResourceStatus, StackEvent};
use aws_sdk_cloudwatch::{
    primitives::DateTime,
    types::{Dimension, MetricAlarm, StateValue, Statistic},
};
use domain::{Metric, Timestamp, ports::StorageError};
use std::{collections::BTreeSet, time::Duration};

/// Resources with data that cannot be recreated.
const HOLDS_DATA: [&str; 5] =
    ["AWS::DynamoDB::Table", "AWS::KMS::Key", "AWS::S3::Bucket", "AWS::SQS::Queue", "AWS::SecretsManager::Secret"];

/// The end of the name of the queue with notices about new audit records; before it comes the stack's name.
const LOG_NOTICES_QUEUE: &str = "-log-notices";

/// The period of CloudWatch's figures: a minute.
const PERIOD: i32 = 60;

/// Calls of functions, and how many of them failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Calls.
    pub requests: u64,
    /// Failed calls.
    pub errors: u64,
}

/// The descriptions of raised alarms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raised {
    /// Those that a fault of the stack raises.
    pub by_faults: Vec<String>,
    /// Those that people outside can raise too ([`Metric::BY_OUTSIDERS`]), those on throttles of functions, the one on
    /// the site's 5xx replies, and the one on the age of notices about the audit log.
    pub by_outsiders: Vec<String>,
}

impl Raised {
    fn add(&mut self, alarm: MetricAlarm) {
        let is_of = |metric: &Metric| alarm.metric_name() == Some(metric.name());
        let is_by_outsiders = Metric::BY_OUTSIDERS.iter().any(is_of)
            || is_on_throttles(&alarm)
            || is_on_5xx(&alarm)
            || is_on_log_notices(&alarm);
        let list = if is_by_outsiders { &mut self.by_outsiders } else { &mut self.by_faults };
        list.extend(alarm.alarm_description.or(alarm.alarm_name));
    }
}

/// Whether an alarm watches the throttles of a function. Many calls at once throttle it, also forged ones, and cost
/// their sender nothing; without reserved concurrency, they throttle every other function too. No new version causes
/// throttles.
fn is_on_throttles(alarm: &MetricAlarm) -> bool {
    (alarm.namespace(), alarm.metric_name()) == (Some("AWS/Lambda"), Some("Throttles"))
}

/// Whether an alarm watches the 5xx replies of the whole site. Some are no fault: an agent's payment buys no answer, calls
/// of one account at the same time get in each other's way, more calls come than a function may run. The functions' faults
/// have alarms of their own.
fn is_on_5xx(alarm: &MetricAlarm) -> bool {
    let mut watched = alarm.metrics().iter().filter_map(|query| query.metric_stat()?.metric()?.metric_name());
    watched.any(|name| name == "5XXError")
}

/// Whether an alarm watches the age of the oldest notice about a new audit record. Strangers can make more records than
/// the hourly runs digest, at no cost. A digest function that fails or does not run has alarms of its own.
fn is_on_log_notices(alarm: &MetricAlarm) -> bool {
    let is_of_queue = |dimension: &Dimension| {
        dimension.name() == Some("QueueName")
            && dimension.value().is_some_and(|queue| queue.ends_with(LOG_NOTICES_QUEUE))
    };
    alarm.metric_name() == Some("ApproximateAgeOfOldestMessage") && alarm.dimensions().iter().any(is_of_queue)
}

/// One stack's alarms, events and figures.
#[derive(Debug)]
pub struct StackWatch {
    connection: Connection,
    stack: String,
}

impl StackWatch {
    /// A watch of the stack with this name.
    #[must_use]
    pub const fn new(connection: Connection, stack: String) -> Self {
        Self { connection, stack }
    }

    /// The alarms that are in state ALARM now.
    ///
    /// # Errors
    /// [`StorageError`] when they could not be read; likewise below.
    pub async fn ringing(&self) -> Result<Raised, StorageError> {
        let client = self.connection.cloudwatch();
        let ask = || async {
            let mut raised = Raised::default();
            let alarms = client.describe_alarms().alarm_name_prefix(format!("{}-", self.stack));
            let mut pages = alarms.state_value(StateValue::Alarm).into_paginator().send();
            while let Some(page) = pages.next().await {
                let alarms = page?.metric_alarms.unwrap_or_default().into_iter();
                let own = alarms.filter(|alarm| is_alarm_of(&self.stack, alarm.alarm_name().unwrap_or_default()));
                own.for_each(|alarm| raised.add(alarm));
            }
            Ok(raised)
        };
        self.connection.call(step("alarms"), ask).await
    }

    /// Resources with data that the current or last update has replaced or deleted.
    ///
    /// # Errors
    /// As [`Self::ringing`].
    pub async fn replaced(&self) -> Result<Vec<String>, StorageError> {
        let client = self.connection.cloudformation();
        let ask = || async {
            let mut found = BTreeSet::new();
            let mut pages = client.describe_stack_events().stack_name(&self.stack).into_paginator().send();
            while let Some(page) = pages.next().await {
                for event in page?.stack_events.unwrap_or_default() {
                    if begins(&event, &self.stack) {
                        return Ok::<_, Failure>(found.into_iter().collect());
                    }
                    found.extend(loss(&event));
                }
            }
            Ok(found.into_iter().collect())
        };
        self.connection.call(step("stack events"), ask).await
    }

    /// Calls of these versions, through the alias that shifts the traffic, in this time before `now`.
    ///
    /// # Errors
    /// As [`Self::ringing`].
    pub async fn traffic(
        &self,
        versions: &[FunctionVersion],
        within: Duration,
        now: Timestamp,
    ) -> Result<Traffic, StorageError> {
        let mut traffic = Traffic::default();
        for version in versions {
            traffic.requests += self.sum(version, "Invocations", within, now).await?;
            traffic.errors += self.sum(version, "Errors", within, now).await?;
        }
        Ok(traffic)
    }

    async fn sum(
        &self,
        version: &FunctionVersion,
        metric: &str,
        within: Duration,
        now: Timestamp,
    ) -> Result<u64, StorageError> {
        let client = self.connection.cloudwatch();
        let start = now.as_seconds() - i64::try_from(within.as_secs()).unwrap_or_default();
        let ask = || async {
            let dimensions =
                version.dimensions().map(|(name, value)| Dimension::builder().name(name).value(value).build());
            let figures = client.get_metric_statistics().namespace("AWS/Lambda").metric_name(metric).period(PERIOD);
            let figures = figures.set_dimensions(Some(dimensions.into())).statistics(Statistic::Sum);
            let figures =
                figures.start_time(DateTime::from_secs(start)).end_time(DateTime::from_secs(now.as_seconds()));
            let points = figures.send().await?.datapoints.unwrap_or_default();
            Ok(points.iter().filter_map(|point| point.sum).map(count).sum())
        };
        self.connection.call(step("function figures"), ask).await
    }
}

/// The alias behind which traffic shifts from one version of a function to the next.
const ALIAS: &str = "live";

/// A published version of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionVersion {
    function: String,
    version: String,
}

impl FunctionVersion {
    /// Parses a function's name with the number of a version, such as `oracle-checkout:7`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (function, version) = text.split_once(':')?;
        let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
        let parsed = Self { function: function.to_owned(), version: version.to_owned() };
        (is_number && !function.is_empty()).then_some(parsed)
    }

    /// The dimensions of its own figures. By `FunctionName` alone, CloudWatch adds up those of all versions, and the old
    /// version's traffic hides a new one that fails.
    fn dimensions(&self) -> [(&'static str, String); 3] {
        let Self { function, version } = self;
        [
            ("FunctionName", function.clone()),
            ("Resource", format!("{function}:{ALIAS}")),
            ("ExecutedVersion", version.clone()),
        ]
    }
}

impl std::fmt::Display for FunctionVersion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.function, self.version)
    }
}

/// Whether CloudFormation gave an alarm of this stack this name: the stack's name, the alarm's in the template, and
/// characters of its own. The prefix alone would also match the alarms of a stack "oracle-staging" for "oracle".
#[must_use]
pub fn is_alarm_of(stack: &str, name: &str) -> bool {
    let own = name.strip_prefix(stack).and_then(|rest| rest.strip_prefix('-'));
    own.is_some_and(|own| own.split('-').count() == 2)
}

const fn step(name: &'static str) -> Step<'static> {
    Step { name, operation: "DEPLOYMENT", subject: "-" }
}

/// Whether the stack's update (or its creation) begins with this event. Events come newest first.
fn begins(event: &StackEvent, stack: &str) -> bool {
    let is_stack = event.logical_resource_id.as_deref() == Some(stack)
        && event.resource_type.as_deref() == Some("AWS::CloudFormation::Stack");
    is_stack
        && matches!(event.resource_status, Some(ResourceStatus::UpdateInProgress | ResourceStatus::CreateInProgress))
}

/// The resource with data that an event deletes or replaces. In a replacement, CloudFormation's reason contains
/// "requires the creation of a new physical resource".
fn loss(event: &StackEvent) -> Option<String> {
    let kind = event.resource_type.as_deref().filter(|kind| HOLDS_DATA.contains(kind))?;
    let reason = event.resource_status_reason.as_deref().unwrap_or_default();
    let is_lost = match event.resource_status {
        Some(ResourceStatus::DeleteInProgress | ResourceStatus::DeleteComplete) => true,
        Some(ResourceStatus::UpdateInProgress) => reason.contains("new physical resource"),
        _ => false,
    };
    is_lost.then(|| format!("{} ({kind})", event.logical_resource_id.as_deref().unwrap_or("a resource")))
}

/// Converts a figure to a count.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Saturates, and is never negative.
fn count(figure: f64) -> u64 {
    figure as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_cloudwatch::types::{MetricDataQuery, MetricStat};

    fn event(id: &str, kind: &str, status: ResourceStatus, reason: &str) -> StackEvent {
        let event = StackEvent::builder().logical_resource_id(id).resource_type(kind).resource_status(status);
        event.resource_status_reason(reason).build()
    }

    #[test]
    fn an_update_begins_with_the_stacks_own_event() {
        let stack = "AWS::CloudFormation::Stack";
        assert!(begins(&event("oracle", stack, ResourceStatus::UpdateInProgress, ""), "oracle"));
        assert!(!begins(&event("oracle", stack, ResourceStatus::UpdateComplete, ""), "oracle"));
        assert!(!begins(&event("Table", "AWS::DynamoDB::Table", ResourceStatus::UpdateInProgress, ""), "oracle"));
    }

    #[test]
    fn the_alarms_of_another_stack_are_not_this_ones() {
        assert!(is_alarm_of("oracle", "oracle-CheckoutErrorsAlarm-1A2B3C4D5E6F"));
        assert!(is_alarm_of("oracle-staging", "oracle-staging-CheckoutErrorsAlarm-1A2B3C4D5E6F"));
        for other in ["oracle-staging-CheckoutErrorsAlarm-1A2B3C4D5E6F", "oracles-X-1", "oracle-X", "oracle", ""] {
            assert!(!is_alarm_of("oracle", other), "{other}");
        }
    }

    /// Anybody can send a forged event, a payment that is not taken, or many calls at once.
    #[test]
    fn what_people_outside_can_raise_is_listed_apart() {
        let alarm = |metric: &str| MetricAlarm::builder().metric_name(metric).alarm_description(metric).build();
        let mut raised = Raised::default();
        let by_outsiders = [
            "SignatureRefused",
            "AuthorityEscalated",
            "Held",
            "TollUnreachable",
            "TollUnanswered",
            "ChatLinkRefused",
            "ChatLinkFailed",
            "ChatMemoryLarge",
        ];
        for metric in by_outsiders.into_iter().chain(["Errors", "ResultUnavailable"]) {
            raised.add(alarm(metric));
        }
        raised.add(MetricAlarm::builder().alarm_name("unnamed").build());
        let calculated = |metric: &str| {
            let metric = aws_sdk_cloudwatch::types::Metric::builder().metric_name(metric).build();
            let query = MetricDataQuery::builder().metric_stat(MetricStat::builder().metric(metric).build()).build();
            let sum = MetricDataQuery::builder().expression("errors - FILL(shown, 0)").build();
            MetricAlarm::builder().metrics(sum).metrics(query).alarm_name("calculated").build()
        };
        raised.add(calculated("WriteThrottleEvents"));
        assert_eq!(raised.by_faults, ["Errors", "ResultUnavailable", "unnamed", "calculated"]);
        assert_eq!(raised.by_outsiders, by_outsiders);
        raised.add(calculated("5XXError"));
        assert_eq!(raised.by_outsiders.last().map(String::as_str), Some("calculated"));
        let of_functions = |namespace: &str, metric: &str| {
            let alarm = MetricAlarm::builder().namespace(namespace).metric_name(metric);
            alarm.alarm_description(format!("{namespace} {metric}")).build()
        };
        let mut raised = Raised::default();
        for (namespace, metric) in [("AWS/Lambda", "Throttles"), ("AWS/Lambda", "Errors"), ("Oracle", "Throttles")] {
            raised.add(of_functions(namespace, metric));
        }
        assert_eq!(raised.by_outsiders, ["AWS/Lambda Throttles"]);
        assert_eq!(raised.by_faults, ["AWS/Lambda Errors", "Oracle Throttles"]);
        let of_queue = |metric: &str, queue: &str| {
            let queue_name = Dimension::builder().name("QueueName").value(queue).build();
            let alarm = MetricAlarm::builder().namespace("AWS/SQS").metric_name(metric).dimensions(queue_name);
            alarm.alarm_description(queue).build()
        };
        let mut raised = Raised::default();
        for queue in ["oracle-log-notices", "oracle-notices", "oracle-orders"] {
            raised.add(of_queue("ApproximateAgeOfOldestMessage", queue));
        }
        raised.add(of_queue("ApproximateNumberOfMessagesVisible", "oracle-log-notices-dead-letters"));
        assert_eq!(raised.by_outsiders, ["oracle-log-notices"]);
        assert_eq!(raised.by_faults, ["oracle-notices", "oracle-orders", "oracle-log-notices-dead-letters"]);
    }

    #[test]
    fn the_figures_are_of_the_new_version_alone() {
        let version = FunctionVersion::parse("oracle-checkout:7").unwrap();
        let owned = |(name, value): (&'static str, &str)| (name, value.to_owned());
        let dimensions =
            [("FunctionName", "oracle-checkout"), ("Resource", "oracle-checkout:live"), ("ExecutedVersion", "7")];
        assert_eq!(version.dimensions(), dimensions.map(owned));
        assert_eq!(version.to_string(), "oracle-checkout:7");
        for other in ["oracle-checkout", "oracle-checkout:", "oracle-checkout:live", ":7", "arn:aws:lambda:x:7"] {
            assert_eq!(FunctionVersion::parse(other), None, "{other}");
        }
    }

    #[test]
    fn only_data_that_goes_is_a_loss() {
        let replaces = "Requested update requires the creation of a new physical resource; hence creating one.";
        let table = "AWS::DynamoDB::Table";
        let lost = |status, reason| loss(&event("Table", table, status, reason));
        assert_eq!(lost(ResourceStatus::UpdateInProgress, replaces).as_deref(), Some("Table (AWS::DynamoDB::Table)"));
        assert_eq!(lost(ResourceStatus::DeleteInProgress, "").as_deref(), Some("Table (AWS::DynamoDB::Table)"));
        assert_eq!(lost(ResourceStatus::UpdateInProgress, ""), None);
        assert_eq!(loss(&event("Role", "AWS::IAM::Role", ResourceStatus::DeleteInProgress, "")), None);
    }
}
