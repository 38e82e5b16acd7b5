//! Reads metrics and alarms from CloudWatch. Every value is optional: a value that cannot be read is `None`.

use aws_sdk_cloudwatch::{
    Client,
    primitives::DateTime,
    types::{Datapoint, Dimension, MetricAlarm, StateValue, Statistic},
};
use domain::Timestamp;
use std::time::Duration;

use crate::stack::account::Account;

/// The window for the age of messages. It is measured every minute, so a quarter of an hour has measurements.
const AGE_WINDOW: Duration = Duration::from_secs(15 * 60);

/// The window for runs: a day, and the possible delay of a daily function.
const RUNS_WINDOW: Duration = Duration::from_secs(26 * 3600);

/// The period of one figure in seconds, which CloudWatch allows for a window of a day and more.
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Alarms {
    pub(crate) count: usize,
    /// The descriptions of the alarms in the state ALARM.
    pub(crate) alarming: Vec<String>,
    /// The descriptions of the alarms in the state INSUFFICIENT_DATA, but for [`Self::silent`].
    pub(crate) unevaluated: Vec<String>,
    /// The number of alarms in that state that ignore missing data: their figures are reported only while something is
    /// wrong, so a healthy stack may never have any.
    pub(crate) silent: usize,
}

impl Alarms {
    fn add(&mut self, alarm: MetricAlarm) {
        self.count += 1;
        let description = alarm.alarm_description.or(alarm.alarm_name).unwrap_or_default();
        match alarm.state_value {
            Some(StateValue::Alarm) => self.alarming.push(description),
            Some(StateValue::Ok) => {}
            _ if alarm.treat_missing_data.as_deref() == Some("ignore") => self.silent += 1,
            _ => self.unevaluated.push(description),
        }
    }
}

impl Measurements {
    pub(crate) fn of(account: &Account) -> Self {
        Self(account.cloudwatch())
    }

    /// The age of a queue's oldest message in seconds.
    pub(crate) async fn oldest_message(&self, url: &str, now: Timestamp) -> Option<u64> {
        let name = url.rsplit('/').next()?;
        let metric = ("AWS/SQS", "ApproximateAgeOfOldestMessage");
        let points = self.points(metric, &[("QueueName", name)], AGE_WINDOW, 60, now).await?;
        let latest = points.into_iter().max_by_key(at)?;
        latest.maximum.map(whole)
    }

    /// The last run of a function, and its recent failures.
    pub(crate) async fn runs(&self, function: &str, now: Timestamp) -> Option<Runs> {
        let of = [("FunctionName", function)];
        let hour = Duration::from_secs(3600);
        let invocations = self.points(("AWS/Lambda", "Invocations"), &of, RUNS_WINDOW, RUNS_PERIOD, now).await?;
        let errors = self.points(("AWS/Lambda", "Errors"), &of, hour, RUNS_PERIOD, now).await?;
        let ran = invocations.iter().filter(|point| point.sum.is_some_and(|sum| sum > 0.0));
        let period = Duration::from_secs(RUNS_PERIOD.unsigned_abs().into());
        let last = ran.filter_map(at).max().map(|start| Timestamp::from_seconds(start).plus(period).min(now));
        Some(Runs { last, failed: errors.iter().filter_map(|point| point.sum).map(whole).sum() })
    }

    /// The stack's alarms; `None` if they cannot be read.
    pub(crate) async fn alarms(&self, stack: &str) -> Option<Alarms> {
        let mut found = Alarms::default();
        let mut pages = self.0.describe_alarms().alarm_name_prefix(format!("{stack}-")).into_paginator().send();
        while let Some(page) = pages.next().await {
            let alarms = page.ok()?.metric_alarms.unwrap_or_default().into_iter();
            alarms
                .filter(|alarm| aws::is_alarm_of(stack, alarm.alarm_name().unwrap_or_default()))
                .for_each(|alarm| found.add(alarm));
        }
        Some(found)
    }

    async fn points(
        &self,
        (namespace, metric): (&str, &str),
        of: &[(&str, &str)],
        window: Duration,
        period: i32,
        now: Timestamp,
    ) -> Option<Vec<Datapoint>> {
        let start = now.as_seconds() - i64::try_from(window.as_secs()).unwrap_or_default();
        let ask = self.0.get_metric_statistics().namespace(namespace).metric_name(metric).period(period);
        let dimensions = of.iter().map(|(name, value)| Dimension::builder().name(*name).value(*value).build());
        let ask = ask.set_dimensions(Some(dimensions.collect()));
        let ask = ask.start_time(DateTime::from_secs(start)).end_time(DateTime::from_secs(now.as_seconds() + 1));
        let answer = ask.statistics(Statistic::Sum).statistics(Statistic::Maximum).send().await.ok()?;
        Some(answer.datapoints.unwrap_or_default())
    }
}

fn at(point: &Datapoint) -> Option<i64> {
    point.timestamp.map(|at| at.secs())
}

/// Converts a figure that is a count or a number of seconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Saturates, and is never negative.
fn whole(figure: f64) -> u64 {
    figure as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_without_data_is_silent_where_it_ignores_missing_data() {
        let alarm = |name: &str, state: StateValue, missing: &str| {
            MetricAlarm::builder().alarm_name(name).state_value(state).treat_missing_data(missing).build()
        };
        let mut found = Alarms::default();
        found.add(alarm("quiet", StateValue::Ok, "notBreaching"));
        found.add(alarm("new", StateValue::InsufficientData, "notBreaching"));
        found.add(alarm("breaker that never opened", StateValue::InsufficientData, "ignore"));
        found.add(alarm("breaker that is open", StateValue::Alarm, "ignore"));
        let (alarming, unevaluated) = (vec!["breaker that is open".to_owned()], vec!["new".to_owned()]);
        assert_eq!(found, Alarms { count: 4, alarming, unevaluated, silent: 1 });
    }
}
