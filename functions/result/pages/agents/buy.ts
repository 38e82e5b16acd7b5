// npm install @x402/fetch @x402/evm viem
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm";
import { privateKeyToAccount } from "viem/accounts";

const wallet = privateKeyToAccount(process.env.WALLET_KEY as `0x${string}`);
const pay = wrapFetchWithPaymentFromConfig(fetch, {
  schemes: [{ network: "eip155:*", client: new ExactEvmScheme(wallet) }],
});

const reply = await pay("https://oracle.example/query", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ query: "Should we open a second shop next spring?" }),
});
console.log(await reply.text());
