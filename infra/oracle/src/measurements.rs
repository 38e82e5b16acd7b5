//! What CloudWatch knows. Nothing here is needed for anything else: what cannot be asked is not known.

use aws_sdk_cloudwatch::{
    Client,
    primitives::DateTime,
    types::{Datapoint, Dimension, StateValue, Statistic},
};
use domain::Timestamp;
use std::time::Duration;

use crate::stack::Deployed;

/// Age is measured every minute; a quarter of an hour has some measurement.
const AGE_WINDOW: Duration = Duration::from_secs(15 * 60);

/// A day, and what a daily function may be late.
const RUNS_WINDOW: Duration = Duration::from_secs(26 * 3600);

/// Seconds of one figure; what CloudWatch allows for a window of a day and more.
const RUNS_PERIOD: i32 = 300;

/// CloudWatch of one stack's account.
pub(crate) struct Measurements(Client);

/// The runs of a function within the last 26 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Runs {
    /// The end of the five minutes of its latest run.
    pub(crate) last: Option<Timestamp>,
    /// Failed runs in the last hour.
    pub(crate) failed: u64,
}

/// The alarms of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Alarms {
    pub(crate) count: usize,
    /// What those in ALARM say.
    pub(crate) alarming: Vec<String>,
    /// What those say that CloudWatch cannot judge: INSUFFICIENT_DATA.
    pub(crate) unevaluated: Vec<String>,
}

impl Measurements {
    pub(crate) fn of(deployed: &Deployed) -> Self {
        Self(deployed.account.cloudwatch())
    }

    /// How long the oldest message of a queue waits, in seconds.
    pub(crate) async fn oldest_message(&self, url: &str, now: Timestamp) -> Option<u64> {
        let name = url.rsplit('/').next()?;
        let points = self.points(("AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", name), AGE_WINDOW, 60, now);
        let latest = points.await?.into_iter().max_by_key(at)?;
        latest.maximum.map(whole)
    }

    /// When a function ran last, and how often it failed lately.
    pub(crate) async fn runs(&self, function: &str, now: Timestamp) -> Option<Runs> {
        let metric = |name| ("AWS/Lambda", name, "FunctionName", function);
        let hour = Duration::from_secs(3600);
        let invocations = self.points(metric("Invocations"), RUNS_WINDOW, RUNS_PERIOD, now).await?;
        let errors = self.points(metric("Errors"), hour, RUNS_PERIOD, now).await?;
        let ran = invocations.iter().filter(|point| point.sum.is_some_and(|sum| sum > 0.0));
        let period = Duration::from_secs(RUNS_PERIOD.unsigned_abs().into());
        let last = ran.filter_map(at).max().map(|start| Timestamp::from_seconds(start).plus(period).min(now));
        Some(Runs { last, failed: errors.iter().filter_map(|point| point.sum).map(whole).sum() })
    }

    /// The stack's alarms; nothing where they cannot be asked.
    pub(crate) async fn alarms(&self, stack: &str) -> Option<Alarms> {
        let mut found = Alarms::default();
        let mut pages = self.0.describe_alarms().alarm_name_prefix(format!("{stack}-")).into_paginator().send();
        while let Some(page) = pages.next().await {
            for alarm in page.ok()?.metric_alarms.unwrap_or_default() {
                found.count += 1;
                let description = alarm.alarm_description.or(alarm.alarm_name).unwrap_or_default();
                match alarm.state_value {
                    Some(StateValue::Alarm) => found.alarming.push(description),
                    Some(StateValue::Ok) => {}
                    _ => found.unevaluated.push(description),
                }
            }
        }
        Some(found)
    }

    async fn points(
        &self,
        (namespace, metric, dimension, value): (&str, &str, &str, &str),
        window: Duration,
        period: i32,
        now: Timestamp,
    ) -> Option<Vec<Datapoint>> {
        let start = now.as_seconds() - i64::try_from(window.as_secs()).unwrap_or_default();
        let ask = self.0.get_metric_statistics().namespace(namespace).metric_name(metric).period(period);
        let ask = ask.dimensions(Dimension::builder().name(dimension).value(value).build());
        let ask = ask.start_time(DateTime::from_secs(start)).end_time(DateTime::from_secs(now.as_seconds() + 1));
        let answer = ask.statistics(Statistic::Sum).statistics(Statistic::Maximum).send().await.ok()?;
        Some(answer.datapoints.unwrap_or_default())
    }
}

fn at(point: &Datapoint) -> Option<i64> {
    point.timestamp.map(|at| at.secs())
}

/// A figure that is a count or seconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Saturates, and is never negative.
fn whole(figure: f64) -> u64 {
    figure as u64
}
