// A client of the Model Context Protocol buys one answer with the tool of a running stack. Arguments: the site and the
// sandbox, whose wallet signs the payment.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [site, sandbox] = process.argv.slice(2);
const client = new Client({ name: "peer", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(`${site}/mcp`)));

const { tools } = await client.listTools();
if (tools.length !== 1) throw new Error(`tools: ${JSON.stringify(tools)}`);
const call = { name: tools[0].name, arguments: { query: "Should we open a second shop next spring?" } };

const price = await client.callTool(call);
const required = Buffer.from(JSON.stringify(price.structuredContent)).toString("base64");
const signed = await fetch(`${sandbox}/control/chain/pay`, { method: "POST", body: JSON.stringify({ required }) });
const { payment_signature } = (await signed.json()) as { payment_signature: string };
const payment = JSON.parse(Buffer.from(payment_signature, "base64").toString());

const bought = await client.callTool({ ...call, _meta: { "x402/payment": payment } });
console.log(JSON.stringify(bought.structuredContent));
await client.close();
