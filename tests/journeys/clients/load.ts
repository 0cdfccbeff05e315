// The first load and the nightly sync of an ERP; says what came of them and what the service then lists.
import { pathToFileURL } from "node:url";
import { answer, connect, pages, readings } from "pcds-client";

const { PCDS_URL = "", PCDS_KEY = "", LOOP_PREFIX = "" } = process.env;
export const prefix = LOOP_PREFIX;
export const client = connect(PCDS_URL, PCDS_KEY, { retries: { attempts: 8 } });

export async function names(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const read = (offset: number) => answer(client.GET("/api/v1/skus", { params: { query: { offset, limit: 4 } } }));
  for await (const page of pages(read)) {
    for (const sku of page.data) if (sku.sku_code.startsWith(prefix)) found[sku.sku_code] = sku.name;
  }
  return found;
}

export async function loaded() {
  const lines = [0, 1, 2, 3, 4].map((number) => `${prefix}-${number},Box,${number + 10}\n`);
  const file = new File(["sku_code,name,weight_grams\n", ...lines], "load.csv", { type: "text/csv" });
  const { id } = await answer(client.POST("/api/v1/imports", { body: { file } }));
  const report: unknown[] = [];
  const read = () => answer(client.GET("/api/v1/imports/{id}", { params: { path: { id } } }));
  for await (const { status, counts } of readings(read, 0.2)) report.splice(0, 2, status, counts.created);
  const skus = [
    { sku_code: `${prefix}-4`, name: "Crate" },
    { sku_code: `${prefix}-5`, name: "Crate" },
    { sku_code: `${prefix}-6`, name: "Crate", weight_grams: -1 },
  ];
  const { results } = await answer(
    client.POST("/api/v1/skus/batch", {
      params: { header: { "Idempotency-Key": `sync-${prefix}` } },
      body: { skus },
    }),
  );
  return {
    report,
    synced: results.map((row) => row.outcome),
    faults: results.flatMap((row) => row.errors).map((issue) => ("field" in issue ? issue.field : "")),
    names: await names(),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) console.log(JSON.stringify(await loaded()));
