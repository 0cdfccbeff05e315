// Runs a morning of an ERP connector with the types of openapi-typescript: omitted fields stay, null ones are cleared.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const client = createClient<paths>({
  baseUrl: process.env.PCDS_URL,
  headers: { "X-API-Key": process.env.PCDS_KEY ?? "" },
});
const code = "CLIENT-OPENAPI-TYPESCRIPT";
const jar: components["schemas"]["SkuInput"] = {
  sku_code: code, name: "Jar", material: "glass", weight_grams: 165.5, description: "With a lid",
};

const made = await client.POST("/api/v1/skus", { body: jar });
assert.equal(made.response.status, 201, JSON.stringify(made.error));
const id = made.data?.data.id ?? "";
const path = { params: { path: { id } } };

await client.PUT("/api/v1/skus/{id}", { ...path, body: { sku_code: code, name: "Jar 250 ml" } });
const untouched = await client.GET("/api/v1/skus/{id}", path);
assert.deepEqual([untouched.data?.data.name, untouched.data?.data.description], ["Jar 250 ml", "With a lid"]);

await client.PUT("/api/v1/skus/{id}", { ...path, body: { sku_code: code, name: "Jar 250 ml", description: null } });
const cleared = await client.GET("/api/v1/skus/{id}", path);
assert.deepEqual([cleared.data?.data.description, cleared.data?.data.weight_grams], [null, 165.5]);

const refused = await client.POST("/api/v1/skus", { body: { sku_code: code, name: "Jar", weight_grams: -1 } });
assert.equal(refused.error?.error, "invalid_body");
assert.equal(refused.error?.details?.[0]?.code, "out_of_range");

const page = await client.GET("/api/v1/skus", { params: { query: { limit: 200 } } });
assert.ok(page.data?.data.some((sku) => sku.sku_code === code));
