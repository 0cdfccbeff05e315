// All four loops of an ERP, with a receiver that refuses each message once; says what came of them.
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { answer, changes, places } from "pcds-client";
import { client, loaded, names, prefix } from "./load.js";

const start = await answer(client.GET("/api/v1/changes", { params: { query: { after: "now" } } }));
let cursor = start.next_cursor;
const done = await loaded();

const copy = new Map<string, { sku_code: string; name: string }>();

async function follow() {
  const page = (after: string) =>
    answer(client.GET("/api/v1/changes", { params: { query: { after, limit: 3, include: "records" } } }));
  for await (const { data, next_cursor } of changes(cursor, page)) {
    for (const { record } of data) if (record?.id) copy.set(record.id, record);
    cursor = next_cursor;
  }
}

function copied() {
  const ours = [...copy.values()].filter((sku) => sku.sku_code.startsWith(prefix));
  return Object.fromEntries(ours.map((sku) => [sku.sku_code, sku.name]));
}

await follow();
const followed = copied();

let secret = Buffer.of();
const ids: unknown[] = [];
const rung = new Set<string>();
const server = createServer(async (request, response) => {
  const body = await text(request);
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signatures } = request.headers;
  const signature = `v1,${createHmac("sha256", secret).update(`${id}.${at}.${body}`).digest("base64")}`;
  ids.push(id);
  const isTaken = ids.filter((each) => each === id).length > 1 && String(signatures).split(" ").includes(signature);
  response.writeHead(isTaken ? 204 : 503).end();
  if (!isTaken) return;
  rung.add(JSON.parse(body).data.sku_code);
  if (rung.size === 2) server.emit("rung");
}).listen(0, "127.0.0.1");
await once(server, "listening");
const place = server.address();
const port = typeof place === "object" ? place?.port : undefined;
let hook = await answer(client.POST("/api/v1/webhooks", { body: { url: `http://127.0.0.1:${port}/` } }));
const params = { path: { id: hook.data?.id ?? "" } };
while (hook.secret === null) {
  // the answer that had it was lost
  hook = await answer(client.POST("/api/v1/webhooks/{id}/roll-secret", { params, body: {} }));
}
secret = Buffer.from(hook.secret.replace("whsec_", ""), "base64");
const bell = once(server, "rung");
for (const [id, { sku_code }] of [...copy]) {
  if (![`${prefix}-0`, `${prefix}-1`].includes(sku_code)) continue;
  await answer(client.PATCH("/api/v1/skus/{id}", { params: { path: { id } }, body: { name: "Tray" } }));
}
await bell;
await follow();
await answer(client.DELETE("/api/v1/webhooks/{id}", { params }));
server.close();
server.closeAllConnections();

const listed: string[] = [];
const byPlace = (cursor: string) =>
  answer(client.GET("/api/v1/skus", { params: { query: { cursor, limit: 4, q: prefix } } }));
for await (const { data } of places(byPlace)) listed.push(...data.map((sku) => sku.sku_code));

const attempts = [ids.length, new Set(ids).size];
const said = { ...done, followed, listed: listed.sort(), rung: [...rung].sort(), attempts, copied: copied(), at_last: await names() };
console.log(JSON.stringify(said));
