// The least a Node process needs to serve the Lambda Runtime API: less than Amazon's own client does.
import http from "node:http";
import { handler } from "./handler.mjs";

const [hostname, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new http.Agent({ keepAlive: true });

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, agent, method, path: `/2018-06-01/runtime/${path}` }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(chunks).toString() }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

for (;;) {
  const { headers, body } = await call("GET", "invocation/next");
  const reply = await handler(JSON.parse(body));
  await call("POST", `invocation/${headers["lambda-runtime-aws-request-id"]}/response`, JSON.stringify(reply));
}
