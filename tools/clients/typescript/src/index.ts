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

/** The service's refusal: a code to branch on, a sentence, and the single faults. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly error: string,
    message: string,
    readonly details: readonly unknown[],
  ) {
    super(message);
  }
}

/** Returns the data of an answer, with its type: `await answer(client.GET(…))`. Throws `Refused` where there is none. */
export async function answer<Data>(
  call: Promise<{ data?: Data; error?: unknown; response: Response }>,
): Promise<Data> {
  const { data, error, response } = await call;
  if (response.ok && data !== undefined) return data;
  const body: object = typeof error === "object" && error !== null ? error : {};
  const code = "error" in body ? String(body.error) : "";
  const message = "message" in body ? String(body.message) : "";
  throw new Refused(response.status, code, message, "details" in body && Array.isArray(body.details) ? body.details : []);
}

/** Yields the pages of a list: `pages((offset) => answer(client.GET(…, { params: { query: { offset } } })))`. */
export async function* pages<Page extends { data: unknown[]; pagination: { offset: number; total: number } }>(
  read: (offset: number) => Promise<Page>,
): AsyncGenerator<Page> {
  for (let offset = 0; ; ) {
    const page = await read(offset);
    yield page;
    offset = page.pagination.offset + page.data.length;
    if (page.data.length === 0 || offset >= page.pagination.total) return;
  }
}

/** Yields the pages of a list by place, which stay right while others write: reads `start`, then each `next_cursor`. */
export async function* places<Page extends { next_cursor?: string | null }>(
  read: (cursor: string) => Promise<Page>,
): AsyncGenerator<Page> {
  for (let cursor: string | null | undefined = "start"; cursor; ) {
    const page: Page = await read(cursor);
    yield page;
    cursor = page.next_cursor;
  }
}

/** Yields the pages of the feed from a cursor to its end. */
export async function* changes<Page extends { next_cursor: string; has_more: boolean }>(
  after: string,
  read: (after: string) => Promise<Page>,
): AsyncGenerator<Page> {
  for (let cursor = after; ; ) {
    const page = await read(cursor);
    yield page;
    if (!page.has_more) return;
    cursor = page.next_cursor;
  }
}

/** Yields what an import says of itself every so many seconds; its last reading is the end of it. */
export async function* readings<Status extends { status: string }>(
  read: () => Promise<Status>,
  seconds = 2,
): AsyncGenerator<Status> {
  for (;;) {
    const status = await read();
    yield status;
    if (status.status === "completed" || status.status === "failed") return;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
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
