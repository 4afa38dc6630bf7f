import { once } from 'node:events';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { z } from 'zod';
import {
  type AccountCommand,
  type AdminClient,
  CtlError,
  NotFoundError,
  UsageError,
} from '#ctl/command';
import { ACCOUNT } from '#ctl/command-line';
import { operatorName } from '#ctl/operator';
import { ADMIN_USER_HEADER } from '#limiter/admin/route';
import { RefusalView } from '#limiter/admin/schema';
import {
  ADMIN_PROOF_HEADER,
  adminTokenPlaces,
  answerProof,
  findAdminToken,
  isSameProof,
  nonceIn,
  readAdminToken,
  requestProof,
} from '#limiter/admin/token';
import { isLoopbackHost } from '#stdlib/network';

const Envelope = z.object({ data: z.unknown() });

/**
 * Client of the admin port at `baseUrl`, with the token in `tokenFile`. Default: the token that a
 * process of this user has published. Throws a `UsageError` for an address outside this machine.
 */
export function adminClient(baseUrl: string, tokenFile?: string): AdminClient {
  const base = URL.parse(baseUrl);
  if (base === null || base.protocol !== 'http:') {
    throw new UsageError(`--admin takes an address such as http://127.0.0.1:8002, not ${baseUrl}`);
  }
  // The admin port listens on loopback only, and the token must not leave this machine.
  if (!isLoopbackHost(base.host)) {
    throw new UsageError(`--admin takes a loopback address of this machine, not ${base.host}`);
  }
  let token: Promise<string | undefined> | undefined;
  return {
    async ask(schema, method, path, body) {
      token ??= tokenOf(base, tokenFile);
      const request = { url: new URL(path, base), method, body, token: await token };
      const { status, text } = await exchange(request);
      // Checked before the body is parsed: a 401 carries no proof, so its body is not trusted.
      if (status === 401) throw refused(base, tokenFile, await token);
      const answer = parsed(text);
      const refusal = RefusalView.safeParse(answer);
      if (refusal.success) throw refusedBy(refusal.data);
      const envelope = Envelope.safeParse(answer);
      const data = schema.safeParse(envelope.data?.data);
      if (envelope.success && data.success) return data.data;
      throw new CtlError(`${baseUrl} is not an admin port of this service`);
    },
  };
}

/** Converts a refusal of the service to the matching error class. */
function refusedBy({ error, message }: z.infer<typeof RefusalView>): CtlError {
  if (error === 'not_found') return new NotFoundError(message);
  return error === 'invalid_request' ? new UsageError(message) : new CtlError(message);
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

/** Error for a missing or wrong token, with the next step. */
function refused(base: URL, file: string | undefined, token: string | undefined): CtlError {
  const hint = 'run ctl as the user of the service, or set SERVICE_ADMIN_TOKEN_FILE';
  if (file !== undefined) {
    const next = `check that ${file} has the token of this service, and that no port is forwarded`;
    return new CtlError(`the service at ${base.origin} refuses the token: ${next}`);
  }
  const places = adminTokenPlaces(portOf(base)).join(' or ');
  const what = token === undefined ? `${places} has no token` : `${places} has another token`;
  return new CtlError(`the service at ${base.origin} requires its token, but ${what}: ${hint}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Call deadline, in milliseconds. The admin port is local and answers from memory. */
const ANSWER_MS_MAX = 10_000;

/** Maximum answer size, in bytes. A page with a thousand accounts is much smaller. */
const ANSWER_BYTES_MAX = 16 * 1_024 * 1_024;

type AdminAsked = {
  readonly url: URL;
  readonly method: string;
  readonly body: unknown;
  /** Proof key, never sent. Without a token, only the challenge is requested. */
  readonly token: string | undefined;
};

type Sent = {
  readonly method: string;
  readonly target: string;
  readonly headers: Record<string, string>;
  readonly body: string;
};

type Answered = {
  readonly response: IncomingMessage;
  readonly text: string;
  /** Peer that answered, as `address:port`. */
  readonly from: string;
};

/**
 * Calls the admin port with mutual proof of the token. While the service is down, another user's
 * process may listen on the port, so the token itself is never sent. The request carries a proof
 * bound to the nonce of its connection. The client accepts only answers that prove the same token.
 *
 * Rejects with a `CtlError` if no service answers, or if another service answers. Status 401 means
 * that the token is missing or wrong.
 */
async function exchange({ url, method, body, token }: AdminAsked) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const ask = async ({ target: path, body: json, ...rest }: Sent): Promise<Answered> => {
    try {
      const asked = send(url, { agent, signal, path, ...rest });
      // Errors after the headers are thrown where the body is read.
      asked.on('error', () => undefined);
      const answered = once(asked, 'response');
      asked.end(json);
      const [response] = (await answered) as [IncomingMessage];
      // Read before the answer ends, because the agent then takes the socket back.
      const from = `${response.socket.remoteAddress}:${response.socket.remotePort}`;
      return { response, text: await textOf(response), from };
    } catch (error) {
      const why = signal.aborted ? 'no answer' : 'no service listens';
      const hint = 'start a service with "make run", or set the address with --admin';
      throw new CtlError(`${why} at ${url.origin}: ${hint}`, { cause: error });
    }
  };
  const asked = { method, target: `${url.pathname}${url.search}`, ...framed(body) };
  try {
    const { response, text } = await proven(ask, asked, token);
    return { status: response.statusCode ?? 0, text };
  } finally {
    agent.destroy();
  }
}

/**
 * Gets the challenge, sends the request with its proof and verifies the proof of the answer.
 * Without a token or a nonce, returns the challenge.
 */
async function proven(
  ask: (sent: Sent) => Promise<Answered>,
  asked: Sent,
  token: string | undefined,
): Promise<Answered> {
  const challenge = await ask({ method: 'GET', target: '/', headers: {}, body: '' });
  const { from: address } = challenge;
  if (challenge.response.statusCode !== 401) {
    throw new CtlError(`${address} is not an admin port of this service`);
  }
  const nonce = nonceIn(challenge.response.headers['www-authenticate']);
  if (nonce === undefined || token === undefined) return challenge;
  const proof = requestProof(token, { nonce, address, ...asked });
  const authorization = `Proof ${proof}`;
  const answer = await ask({ ...asked, headers: { ...asked.headers, authorization } });
  const { statusCode: status = 0, headers: answered } = answer.response;
  const shown = String(answered[ADMIN_PROOF_HEADER] ?? '');
  // A service with another token cannot prove its 401. The caller reports the next step.
  if (status === 401 || isSameProof(shown, answerProof(token, proof, status, answer.text))) {
    return answer;
  }
  throw new CtlError(
    `the process at ${address} did not prove the token of the service, so its answer was discarded: check which process listens there`,
  );
}

/** Reads the whole body. Throws if the body exceeds `ANSWER_BYTES_MAX`. */
async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function framed(body: unknown): Pick<Sent, 'headers' | 'body'> {
  const user = operatorName();
  const named = user === undefined ? {} : { [ADMIN_USER_HEADER]: user };
  if (body === undefined) return { headers: named, body: '' };
  const json = JSON.stringify(body);
  const length = `${Buffer.byteLength(json)}`;
  const described = { 'content-type': 'application/json', 'content-length': length };
  return { headers: { ...named, ...described }, body: json };
}

/** Builds a command that makes one call about an account and shows the answer. */
export function oneCall<Schema extends z.ZodType>(
  schema: Schema,
  textOf: (answer: z.infer<Schema>) => string,
  command: Pick<AccountCommand, 'words' | 'summary' | 'description'> & {
    readonly request: {
      readonly method: 'GET' | 'POST' | 'PUT';
      readonly part: string;
      readonly body?: object;
    };
  },
): AccountCommand {
  const { words, summary, description, request } = command;
  return {
    kind: 'account',
    words,
    summary,
    description,
    args: [ACCOUNT],
    options: {},
    async run(admin, [account = '']) {
      const path = pathOf(account, request.part);
      const data = await admin.ask(schema, request.method, path, request.body);
      return { data, text: textOf(data) };
    },
  };
}

/** Admin port path for a part of an account. */
export function pathOf(account: string, part: string): string {
  return `/accounts/${encodeURIComponent(account)}/${part}`;
}
