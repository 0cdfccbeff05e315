// Writes src/schema.ts: the types of openapi.json. Files are Blobs there, and what has a default may be left out.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const blob = ts.factory.createTypeReferenceNode("Blob");
const document = JSON.parse(await readFile("openapi.json", "utf8"));
const types = await openapiTS(document, {
  defaultNonNullable: false,
  transform: (schema) => (schema.format === "binary" ? blob : undefined),
});
await writeFile("src/schema.ts", astToString(types));
