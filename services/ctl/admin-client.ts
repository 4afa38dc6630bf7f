import { userInfo } from 'node:os';
import { z } from 'zod';
import { CtlError } from '#ctl/ctl-error';
import { ADMIN_USER_HEADER, USER_NAME } from '#limiter/admin-audit';
import { RefusalView } from '#limiter/admin-schema';
import { adminTokenPlaces, findAdminToken, readAdminToken } from '#limiter/admin-token';
import { isLoopbackHost } from '#limiter/loopback';

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

/**
 * The admin port at `baseUrl`, with the token in `tokenFile`; without one, with that which a process
 * of this user has published.
 */
export function adminClient(baseUrl: string, tokenFile?: string): AdminClient {
  const base = URL.parse(baseUrl);
  if (base === null || !/^https?:$/.test(base.protocol)) {
    throw new CtlError(`--admin takes an address such as http://127.0.0.1:8002, not ${baseUrl}`);
  }
  // The port listens on this machine only, and its token is for nobody else.
  if (!isLoopbackHost(base.host)) {
    throw new CtlError(`--admin takes an address of this machine, not ${base.host}`);
  }
  let token: Promise<string | undefined> | undefined;
  return {
    async ask(schema, method, path, body) {
      token ??= tokenOf(base, tokenFile);
      const request = { url: new URL(path, base), method, body, token: await token };
      const { status, text } = await exchange(request);
      const answer = parsed(text);
      const refusal = RefusalView.safeParse(answer);
      if (refusal.success && status === 401) throw refused(base, tokenFile, await token);
      if (refusal.success) throw new CtlError(refusal.data.message);
      const envelope = Envelope.safeParse(answer);
      const data = schema.safeParse(envelope.data?.data);
      if (envelope.success && data.success) return data.data;
      throw new CtlError(`what answers at ${baseUrl} is no admin port of this service`);
    },
  };
}

function portOf({ port }: URL): number {
  return port === '' ? 80 : Number(port);
}

async function tokenOf(base: URL, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return await findAdminToken(portOf(base));
  try {
    return await readAdminToken(file);
  } catch (error) {
    throw new CtlError(`SERVICE_ADMIN_TOKEN_FILE: ${(error as Error).message}`, { cause: error });
  }
}

/** What to do about a token that is missing or wrong. */
function refused(base: URL, file: string | undefined, token: string | undefined): CtlError {
  const hint = 'run ctl as the user of the service, or name its file with SERVICE_ADMIN_TOKEN_FILE';
  if (file !== undefined) {
    return new CtlError(`the service at ${base.origin} has another token than ${file}`);
  }
  const places = adminTokenPlaces(portOf(base)).join(' or ');
  const what =
    token === undefined ? `there is no token for it in ${places}` : `${places} is of another`;
  return new CtlError(`the service at ${base.origin} asks for its token, and ${what}: ${hint}`);
}

type Asked = {
  readonly url: URL;
  readonly method: string;
  readonly body: unknown;
  readonly token: string | undefined;
};

async function exchange({ url, method, body, token }: Asked) {
  const user = userName();
  const headers = {
    ...(user === undefined ? {} : { [ADMIN_USER_HEADER]: user }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  try {
    const response = await fetch(url, { method, headers, signal, redirect: 'error', ...json });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const why = signal.aborted ? 'nobody answers' : 'no service listens';
    const text = `${why} at ${url.origin}: start one with "make run", or name its port with --admin`;
    throw new CtlError(text, { cause: error });
  }
}

/** Undefined for a user that is a mere number, as in some containers. */
function userName(): string | undefined {
  try {
    const { username } = userInfo();
    return USER_NAME.test(username) ? username : undefined;
  } catch {
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
