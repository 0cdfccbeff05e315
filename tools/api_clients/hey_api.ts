// Runs the same morning with the client of @hey-api/openapi-ts, and sends a file for import.
import assert from "node:assert/strict";
import { client } from "./hey/client.gen.js";
import { getImport, getSku, postImport, postSku, putSku } from "./hey/index.js";

client.setConfig({ baseUrl: process.env.PCDS_URL, headers: { "X-API-Key": process.env.PCDS_KEY ?? "" } });
const code = "CLIENT-HEY-API";

const made = await postSku({ body: { sku_code: code, name: "Can", material: "metal", description: "33 cl" } });
assert.equal(made.response?.status, 201, JSON.stringify(made.error));
const path = { id: made.data?.data.id ?? "" };

await putSku({ path, body: { sku_code: code, name: "Can 33 cl" } });
assert.equal((await getSku({ path })).data?.data.description, "33 cl");
await putSku({ path, body: { sku_code: code, name: "Can 33 cl", description: null } });
assert.equal((await getSku({ path })).data?.data.description, null);

const file = new File([`sku_code,name,material\n${code}-2,Can 50 cl,metal\n`], "cans.csv", { type: "text/csv" });
const accepted = await postImport({ body: { file } });
assert.equal(accepted.response?.status, 202, JSON.stringify(accepted.error));
let read = await getImport({ path: { id: accepted.data?.id ?? "" } });
while (read.data?.status === "queued" || read.data?.status === "processing") {
  await new Promise((resolve) => setTimeout(resolve, 100));
  read = await getImport({ path: { id: accepted.data?.id ?? "" } });
}
assert.equal(read.data?.counts.created, 1, JSON.stringify(read.data));
