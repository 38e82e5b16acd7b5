// Verifies a Stripe event with Stripe's own library and puts the paid session on a queue with Amazon's own client.
import Stripe from "stripe";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";

const stripe = new Stripe("sk_test_bench");
// The benchmark's queue sends no checksum back.
const sqs = new SQSClient({ md5: false });

export async function handler(request) {
  let event;
  try {
    const signature = request.headers["stripe-signature"];
    event = stripe.webhooks.constructEvent(request.body, signature, process.env.STRIPE_WEBHOOK_SECRET);
  } catch {
    return { statusCode: 400, body: "{}" };
  }
  const session = event.data.object;
  if (event.type === "checkout.session.completed" && session.payment_status === "paid") {
    const MessageBody = JSON.stringify({ session_id: session.id });
    await sqs.send(new SendMessageCommand({ QueueUrl: process.env.ORDERS_QUEUE_URL, MessageBody }));
  }
  return { statusCode: 200, body: '{"received":true}' };
}
