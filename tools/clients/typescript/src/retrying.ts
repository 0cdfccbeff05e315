// Sends a request again where the service asks for it or does not answer; gives each write an Idempotency-Key.
//
// With the same key at each attempt, a write of which the answer was lost is not done twice: the service sends the first
// answer again. An answer is read to its end here, so that one that breaks off counts as none.

export interface Retries {
  /** How often a request is sent at most, the first time included. */
  attempts?: number;
  /** An answer that asks to wait longer than these seconds is returned as it is. */
  longestWait?: number;
}

const WRITES = new Set(["POST", "PUT", "PATCH", "DELETE"]);
const AGAIN = new Set([429, 500, 502, 503, 504]);
const WITHOUT_BODY = new Set([204, 205, 304]);

export function retrying({ attempts = 5, longestWait = 60 }: Retries = {}): (request: Request) => Promise<Response> {
  return async (request) => {
    if (WRITES.has(request.method) && !request.headers.has("Idempotency-Key")) {
      request.headers.set("Idempotency-Key", crypto.randomUUID());
    }
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= attempts;
      let seconds = pause(attempt);
      try {
        const answer = await whole(await fetch(request.clone()));
        if (isLast || !AGAIN.has(answer.status)) return answer;
        const asked = answer.headers.get("Retry-After") ?? "";
        if (/^\d+$/.test(asked)) seconds = Number(asked);
        if (seconds > longestWait) return answer;
      } catch (fault) {
        if (isLast || request.signal.aborted) throw fault;
      }
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  };
}

async function whole(answer: Response): Promise<Response> {
  const { status, statusText, headers } = answer;
  const bytes = await answer.arrayBuffer();
  return new Response(WITHOUT_BODY.has(status) ? null : bytes, { status, statusText, headers });
}

/** About 1, 2, 4 … seconds; not exactly, so that many clients do not come back at once. */
function pause(attempt: number): number {
  return 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
}
