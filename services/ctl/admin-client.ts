import { z } from 'zod';
import { CtlError } from '#ctl/ctl-error';
import { RefusalView } from '#limiter/admin-schema';

/** How long the admin port may take: it is on this machine and answers from memory. */
const ANSWER_MS_MAX = 10_000;

const Envelope = z.object({ data: z.unknown() });

/** The admin port of a running service, for one command. */
export interface AdminClient {
  /**
   * Sends a request and reads the answer's `data` by `schema`. Rejects with a CtlError that says
   * what the service refused, or that nobody answers and how to start it.
   */
  ask<Schema extends z.ZodType>(
    schema: Schema,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<z.infer<Schema>>;
}

/** The admin port at `baseUrl`. */
export function adminClient(baseUrl: string): AdminClient {
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? '')) {
    throw new CtlError(`--admin takes an address such as http://127.0.0.1:8002, not ${baseUrl}`);
  }
  return {
    async ask(schema, method, path, body) {
      const text = await exchange(new URL(path, baseUrl), method, body);
      const answer = parsed(text);
      const refusal = RefusalView.safeParse(answer);
      if (refusal.success) throw new CtlError(refusal.data.message);
      const envelope = Envelope.safeParse(answer);
      const data = schema.safeParse(envelope.data?.data);
      if (envelope.success && data.success) return data.data;
      throw new CtlError(`what answers at ${baseUrl} is no admin port of this service`);
    },
  };
}

async function exchange(url: URL, method: string, body: unknown): Promise<string> {
  const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  try {
    const response = await fetch(url, { method, signal, ...(body === undefined ? {} : json) });
    return await response.text();
  } catch (error) {
    const why = signal.aborted ? 'nobody answers' : 'no service listens';
    const text = `${why} at ${url.origin}: start one with "make run", or name its port with --admin`;
    throw new CtlError(text, { cause: error });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
