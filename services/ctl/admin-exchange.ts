import { once } from 'node:events';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { CtlError } from '#ctl/command';
import { operatorName } from '#ctl/operator-name';
import { ADMIN_USER_HEADER } from '#limiter/admin-audit';
import {
  ADMIN_PROOF_HEADER,
  answerProof,
  isSameProof,
  nonceIn,
  requestProof,
} from '#limiter/admin-proof';

/** How long the admin port may take: it is on this machine and answers from memory. */
const ANSWER_MS_MAX = 10_000;

/** The longest answer, in bytes: a page of a thousand accounts, with much to spare. */
const ANSWER_BYTES_MAX = 16 * 1_024 * 1_024;

type AdminAsked = {
  readonly url: URL;
  readonly method: string;
  readonly body: unknown;
  /** Never sent: it proves the request. Without one nothing is asked but for the challenge. */
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
  /** `address:port` of who answered. */
  readonly from: string;
};

/**
 * Asks the admin port and answers what it says. The port may be another user's while the service is
 * down: the token is only proven, on the connection whose nonce the proof is for, and what comes
 * back counts only with the proof of a service that has the token as well. Rejects with a CtlError
 * when no service answers, or another one. A 401 says that the token is missing or wrong, and
 * nothing else.
 */
export async function exchange({ url, method, body, token }: AdminAsked) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const ask = async ({ target: path, body: json, ...rest }: Sent): Promise<Answered> => {
    try {
      const asked = send(url, { agent, signal, path, ...rest });
      // An answer that breaks off is heard of where it is read.
      asked.on('error', () => undefined);
      const answered = once(asked, 'response');
      asked.end(json);
      const [response] = (await answered) as [IncomingMessage];
      // Read before the answer ends: then the agent takes the connection back.
      const from = `${response.socket.remoteAddress}:${response.socket.remotePort}`;
      return { response, text: await textOf(response), from };
    } catch (error) {
      const why = signal.aborted ? 'no answer' : 'no service listens';
      const hint = 'start one with "make run", or name its port with --admin';
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

/** What is answered counts with its proof; without one only that the token is asked for. */
async function proven(
  ask: (sent: Sent) => Promise<Answered>,
  asked: Sent,
  token: string | undefined,
): Promise<Answered> {
  const challenge = await ask({ method: 'GET', target: '/', headers: {}, body: '' });
  const { from: address } = challenge;
  if (challenge.response.statusCode !== 401) {
    throw new CtlError(`what answers at ${address} is no admin port of this service`);
  }
  const nonce = nonceIn(challenge.response.headers['www-authenticate']);
  if (nonce === undefined || token === undefined) return challenge;
  const proof = requestProof(token, { nonce, address, ...asked });
  const authorization = `Proof ${proof}`;
  const answer = await ask({ ...asked, headers: { ...asked.headers, authorization } });
  const { statusCode: status = 0, headers: answered } = answer.response;
  const shown = String(answered[ADMIN_PROOF_HEADER] ?? '');
  // A service with another token cannot prove its refusal either; the caller says what to do.
  if (status === 401 || isSameProof(shown, answerProof(token, proof, status, answer.text))) {
    return answer;
  }
  throw new CtlError(`what answers at ${address} does not know the token of the service`);
}

/** The whole body. Throws for one that no admin port sends. */
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
