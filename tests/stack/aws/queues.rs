//! The queues, and the topics of alerts.

use super::Aws;
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;

impl Aws {
    /// Sends a message with this body to a queue.
    pub(crate) async fn send(&self, queue: &str, body: &Value) {
        self.sqs
            .send_message()
            .queue_url(self.output(queue))
            .message_body(body.to_string())
            .send()
            .await
            .unwrap_or_else(|error| panic!("{queue}: {error:?}"));
    }

    /// The bodies of the messages that wait in a queue; does not remove them.
    pub(crate) async fn peek(&self, queue: &str) -> Vec<String> {
        self.peek_at(self.output(queue)).await
    }

    async fn peek_at(&self, url: &str) -> Vec<String> {
        let receive = self.sqs.receive_message().queue_url(url).max_number_of_messages(10).visibility_timeout(0);
        let messages = receive.send().await.unwrap_or_else(|error| panic!("{url}: {error:?}")).messages;
        messages.unwrap_or_default().into_iter().filter_map(|message| message.body).collect()
    }

    /// Creates and empties a test queue that is subscribed to an alert topic; returns its URL. The queue is not
    /// deleted: the next test uses it.
    pub(crate) async fn subscribe(&self, topic: &str) -> String {
        let name = format!("tests-{}", topic.to_lowercase());
        let policy = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}]}"#;
        let create = self.sqs.create_queue().queue_name(&name).attributes(QueueAttributeName::Policy, policy);
        let url = create.send().await.expect("a queue").queue_url.expect("its address");
        let ask = self.sqs.get_queue_attributes().queue_url(&url).attribute_names(QueueAttributeName::QueueArn);
        let arn = ask.send().await.expect("its attributes").attributes.expect("its attributes");
        let subscribe = self.sns.subscribe().topic_arn(self.output(topic)).protocol("sqs");
        let subscribe =
            subscribe.endpoint(&arn[&QueueAttributeName::QueueArn]).attributes("RawMessageDelivery", "true");
        subscribe.send().await.expect("a subscription");
        self.sqs.purge_queue().queue_url(&url).send().await.expect("an empty queue");
        url
    }

    /// Subscribes an address to a topic; the address must confirm it.
    pub(crate) async fn subscribe_webhook(&self, topic: &str, address: &str) {
        let subscribe = self.sns.subscribe().topic_arn(self.output(topic)).protocol("http").endpoint(address);
        subscribe.send().await.expect("a subscription");
    }

    /// Removes the subscription of an address.
    pub(crate) async fn unsubscribe(&self, topic: &str, address: &str) {
        let all = self.sns.list_subscriptions_by_topic().topic_arn(self.output(topic)).send().await;
        for subscription in all.expect("subscriptions").subscriptions.unwrap_or_default() {
            if subscription.endpoint.as_deref() == Some(address) {
                let arn = subscription.subscription_arn.expect("its name");
                self.sns.unsubscribe().subscription_arn(arn).send().await.expect("unsubscribed");
            }
        }
    }

    /// The alerts in a queue of [`Self::subscribe`].
    pub(crate) async fn alerts(&self, queue: &str) -> Vec<String> {
        self.peek_at(queue).await
    }

    /// The number of messages of a queue that wait or are in flight.
    pub(crate) async fn held(&self, queue: &str) -> u32 {
        let counts = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        ];
        self.counted(queue, &counts).await
    }

    /// The number of messages of a queue whose delay has not ended.
    pub(crate) async fn delayed(&self, queue: &str) -> u32 {
        self.counted(queue, &[QueueAttributeName::ApproximateNumberOfMessagesDelayed]).await
    }

    async fn counted(&self, queue: &str, counts: &[QueueAttributeName]) -> u32 {
        let ask = self.sqs.get_queue_attributes().queue_url(self.output(queue));
        let asked = ask.set_attribute_names(Some(counts.to_vec())).send().await;
        let asked = asked.unwrap_or_else(|error| panic!("{queue}: {error:?}")).attributes.unwrap_or_default();
        counts.iter().map(|count| asked[count].parse::<u32>().expect("a count")).sum()
    }

    /// Empties a queue.
    pub(crate) async fn purge(&self, queue: &str) {
        let purged = self.sqs.purge_queue().queue_url(self.output(queue)).send().await;
        purged.unwrap_or_else(|error| panic!("{queue}: {error:?}"));
    }
}
