// Writes a SKU and orders an export over a connection that fails, and says what the answers were.
import { connect } from "pcds-client";

const [url, key] = [process.env.PCDS_URL ?? "", process.env.PCDS_KEY ?? ""];
const client = connect(url, key);
const sku = await client.POST("/api/v1/skus", { body: { sku_code: "RETRIED-TYPESCRIPT", name: "Box" } });
const exported = await client.POST("/api/v1/exports", { body: { format: "csv" } });
const impatient = connect(url, key, { retries: { longestWait: 0 } });
const refused = await impatient.POST("/api/v1/skus", { body: { sku_code: "REFUSED-TYPESCRIPT", name: "Box" } });
const single = connect(url, key, { retries: { attempts: 1 } });
const lost = await single
  .POST("/api/v1/skus", { body: { sku_code: "REFUSED-TYPESCRIPT", name: "Box" } })
  .then(() => false, () => true);
console.log(JSON.stringify({ statuses: [sku, exported, refused].map((answer) => answer.response.status), lost }));
