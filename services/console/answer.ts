import type { Readable } from 'node:stream';

/** What a route answers: a status, JSON for the envelope's `data`, and cookies to set. */
export type Answer = {
  readonly status: number;
  readonly data?: unknown;
  /** Beside `data`, of a list in pages. */
  readonly pagination?: object;
  /** Instead of JSON: what is saved under a name. */
  readonly file?: { readonly name: string; readonly type: string; readonly content: Readable };
  readonly cookies?: readonly string[];
};

/** 200 with data. */
export function shown(data: unknown, cookies: readonly string[] = []): Answer {
  return { status: 200, data, cookies };
}

/** 201 with what was made. */
export function made(data: unknown, cookies: readonly string[] = []): Answer {
  return { status: 201, data, cookies };
}

/** 204: it is done, and there is nothing to say of it. */
export function done(cookies: readonly string[] = []): Answer {
  return { status: 204, cookies };
}

/** 200 with a file that is saved under a name. */
export function saved(name: string, type: string, content: Readable): Answer {
  return { status: 200, file: { name, type, content } };
}
