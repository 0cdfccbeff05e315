// The client of the Packaging Compliance Data Service.
import createClient, { type Client } from "openapi-fetch";
import { retrying, type Retries } from "./retrying.js";
import type { paths } from "./schema.js";

export { retrying, type Retries } from "./retrying.js";
export type { components, operations, paths } from "./schema.js";

export interface Options {
  retries?: Retries;
  /** The language of sentences in answers: en, fr or de. */
  language?: string;
}

/** Returns a client of the service at this address, with a key of the company. */
export function connect(baseUrl: string, key: string, options: Options = {}): Client<paths> {
  return createClient<paths>({
    baseUrl,
    headers: { "X-API-Key": key, "Accept-Language": options.language ?? "en" },
    bodySerializer: body,
    fetch: retrying(options.retries),
  });
}

/** A body with a file in it is sent as a form, one that is a file as it is, every other as JSON. */
function body(given: unknown): BodyInit {
  if (given instanceof Blob) return given;
  const parts = Object.entries(given ?? {});
  if (!parts.some(([, value]) => value instanceof Blob)) return JSON.stringify(given);
  const form = new FormData();
  for (const [name, value] of parts) {
    if (value !== undefined) form.append(name, value instanceof Blob ? value : String(value));
  }
  return form;
}
