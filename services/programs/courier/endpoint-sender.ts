import { lookup, Resolver } from 'node:dns/promises';
import {
  type ClientRequestArgs,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent, request } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import {
  ANSWER_BYTES_SHOWN,
  CONTENT_TYPE_SHOWN,
  type CourierOutcome,
  type ShownAnswer,
} from '#grpc/courier-messages';
import { addressIn, isPublicAddress } from '#webhooks/public-address';

/** Maximum duration of a delivery, in milliseconds, from the name lookup to the answer. */
const DELIVERY_MS_MAX = 10_000;

/** Timeout of one question to a name server, in milliseconds, and number of questions. */
const LOOKUP_MS = 2_000;
const LOOKUP_TRIES = 2;

/** Maximum bytes of the headers of an answer. */
const HEADER_BYTES_MAX = 8 * 1_024;

/** Maximum bytes of a body that is read. A connection with a longer body is not used again. */
const BODY_BYTES_MAX = 4 * 1_024;

/** Maximum number of deliveries at the same time, and of their bytes. Further ones are refused. */
const DELIVERIES_MAX = 1_024;
const DELIVERY_BYTES_MAX = 64 * 1_024 * 1_024;

/** Time for which an unused connection stays open, in milliseconds. */
const IDLE_MS = 30_000;

/** A message to an endpoint. */
export type Delivery = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Cause of a delivery without an answer. */
type DeliveryFailure =
  /** Too many deliveries are under way. */
  | 'courier_away'
  /** The name is unknown, or leads to an address that is not allowed. */
  | 'no_public_address'
  | 'no_connection'
  | 'tls_failed'
  | 'timeout'
  | 'broken_answer';

/** Result of a delivery. An answer may have any status. */
export type DeliveryOutcome =
  | Extract<CourierOutcome, { kind: 'answered' }>
  | { readonly kind: 'failed'; readonly failure: DeliveryFailure };

/** Finds all addresses of a name. */
type ResolveAll = (name: string) => Promise<readonly string[]>;

/** Options of a sender. */
export type SenderOptions = {
  /** Whether an address is in a network to which the operator allows any delivery. */
  readonly isInternal?: (address: string) => boolean;
  /** Whether an address is on the internet. */
  readonly isPublic?: (address: string) => boolean;
  /**
   * Whether the answers of an address may be shown to the customer. Default: public addresses
   * outside of the internal networks.
   */
  readonly isShown?: (address: string) => boolean;
  /** Finds the addresses of every name. Default: name servers, and this machine if internal. */
  readonly resolve?: ResolveAll;
  /** Certificates of further authorities. */
  readonly ca?: string;
  readonly deliveryMsMax?: number;
};

/** A delivery failed for a reason that a code of Node.js does not express. */
class Refused extends Error {
  readonly failure: DeliveryFailure;

  constructor(failure: DeliveryFailure) {
    super(failure);
    this.failure = failure;
  }
}

/**
 * Sends messages to endpoints of customers. A customer chooses the address, so this class connects
 * only to public addresses: it resolves the name itself, refuses a name with any other address,
 * connects to the resolved addresses, and checks the address of the connection again. It follows no
 * redirect, and uses no proxy. It shows the beginning of an answer only if the address is
 * public, so that no customer reads an internal network. Without TLS, and on ports other than
 * 443, it connects only to internal addresses.
 */
export class EndpointSender implements Disposable {
  readonly #ways: Readonly<Record<'public' | 'internal' | 'plain', Way>>;
  readonly #deliveryMsMax: number;
  readonly #isShown: (address: string) => boolean;
  #underWay = 0;
  #bytes = 0;

  constructor({
    isInternal = () => false,
    isPublic = isPublicAddress,
    isShown = (address) => isPublic(address) && !isInternal(address),
    resolve,
    ca,
    deliveryMsMax = DELIVERY_MS_MAX,
  }: SenderOptions = {}) {
    this.#deliveryMsMax = deliveryMsMax;
    this.#isShown = isShown;
    const options = (names: ResolveAll, isAllowed: IsAllowed) => ({
      keepAlive: true,
      timeout: IDLE_MS,
      lookup: checkedLookup(names, isAllowed),
      ...(ca === undefined ? {} : { ca }),
    });
    const isEither = (address: string) => isPublic(address) || isInternal(address);
    const secure = (names: ResolveAll, isAllowed: IsAllowed) => {
      const agent = new Agent(options(names, isAllowed));
      return { isAllowed, request, agent: guarded(agent, isAllowed) };
    };
    const locally = resolve ?? resolvedLocally;
    const plain = new HttpAgent(options(locally, isInternal));
    this.#ways = {
      public: secure(resolve ?? resolvedByServers, isEither),
      internal: secure(locally, isInternal),
      plain: { isAllowed: isInternal, request: httpRequest, agent: guarded(plain, isInternal) },
    };
  }

  /** Delivers a message once. Never rejects. */
  async send(delivery: Delivery): Promise<DeliveryOutcome> {
    const bytes = Buffer.byteLength(delivery.body);
    if (this.#underWay >= DELIVERIES_MAX || this.#bytes + bytes > DELIVERY_BYTES_MAX) {
      return { kind: 'failed', failure: 'courier_away' };
    }
    this.#underWay += 1;
    this.#bytes += bytes;
    try {
      return await this.#send(delivery);
    } finally {
      this.#underWay -= 1;
      this.#bytes -= bytes;
    }
  }

  #send({ url, headers, body }: Delivery): Promise<DeliveryOutcome> {
    const { hostname, protocol, port } = new URL(url);
    const name = protocol === 'http:' ? 'plain' : port === '' ? 'public' : 'internal';
    const way = this.#ways[name];
    const literal = addressIn(hostname);
    // Node.js calls no lookup for an address.
    if (literal !== undefined && !way.isAllowed(literal)) {
      return Promise.resolve({ kind: 'failed', failure: 'no_public_address' });
    }
    return new Promise((resolve) => {
      const signal = AbortSignal.timeout(this.#deliveryMsMax);
      let answeredSoFar = (): DeliveryOutcome | undefined => undefined;
      const options = { method: 'POST', agent: way.agent, signal, headers };
      const call = way.request(url, { ...options, maxHeaderSize: HEADER_BYTES_MAX }, (answer) => {
        const isShown = this.#isShown(answer.socket.remoteAddress ?? '');
        const start = new AnswerStart();
        const answered = () => outcomeOf(answer, isShown ? start : undefined);
        answeredSoFar = answered;
        answer.on('data', (chunk: Buffer) => {
          if (start.add(chunk) > BODY_BYTES_MAX) answer.destroy();
        });
        answer.on('error', () => undefined);
        answer.on('close', () => resolve(answered()));
      });
      call.on('error', (error) => {
        resolve(answeredSoFar() ?? { kind: 'failed', failure: failureOf(error, signal) });
      });
      // An answer such as 101 ends the call without an event of its own.
      call.on('close', () => {
        resolve(answeredSoFar() ?? { kind: 'failed', failure: 'broken_answer' });
      });
      call.end(body);
    });
  }

  [Symbol.dispose](): void {
    for (const { agent } of Object.values(this.#ways)) agent.destroy();
  }
}

/** Outcome with an answer. `start`: beginning of its body; undefined: it is not shown. */
function outcomeOf({ statusCode: status = 0, headers }: IncomingMessage, start?: AnswerStart) {
  const answered = { kind: 'answered', status, retryAfter: headers['retry-after'] } as const;
  return start === undefined
    ? answered
    : { ...answered, shown: start.shown(headers['content-type']) };
}

/** Beginning of the body of an answer. */
class AnswerStart {
  readonly #kept: Buffer[] = [];
  #bytes = 0;

  /** Adds bytes. Returns the number of bytes so far. */
  add(chunk: Buffer): number {
    const room = ANSWER_BYTES_SHOWN - this.#bytes;
    if (room > 0) this.#kept.push(chunk.subarray(0, room));
    this.#bytes += chunk.length;
    return this.#bytes;
  }

  shown(contentType = ''): ShownAnswer {
    const isCut = this.#bytes > ANSWER_BYTES_SHOWN;
    // In a cut body, `stream` leaves out a part of a character at the end.
    const text = new TextDecoder().decode(Buffer.concat(this.#kept), { stream: isCut });
    return { contentType: contentType.slice(0, CONTENT_TYPE_SHOWN), text, isCut };
  }
}

/** How an address is reached: with or without TLS, and which addresses are allowed. */
type Way = {
  readonly isAllowed: IsAllowed;
  readonly request: typeof request;
  readonly agent: Agent | HttpAgent;
};

/** Whether a connection to an address is allowed. */
type IsAllowed = (address: string) => boolean;

/** Agent that destroys a connection to a refused address before the request is sent. */
function guarded<A extends Agent | HttpAgent>(agent: A, isAllowed: IsAllowed): A {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (
    options: ClientRequestArgs,
    callback?: Parameters<A['createConnection']>[1],
  ) => {
    const socket = connect(options, callback) as Socket;
    socket.once('connect', () => {
      if (!isAllowed(socket.remoteAddress ?? '')) socket.destroy(new Refused('no_public_address'));
    });
    return socket;
  };
  return agent;
}

/** Lookup that fails unless every address of a name is allowed. */
function checkedLookup(resolve: ResolveAll, isAllowed: IsAllowed): LookupFunction {
  return (name, { all }, callback) => {
    resolve(name).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) return callback(new Refused('no_public_address'), []);
        if (!addresses.every(isAllowed)) return callback(new Refused('no_public_address'), []);
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        if (all === true) callback(null, found);
        else callback(null, first, isIP(first));
      },
      (error) => callback(error, []),
    );
  };
}

/** Resolver with a short timeout. */
const RESOLVER = new Resolver({ timeout: LOOKUP_MS, tries: LOOKUP_TRIES });

/**
 * Resolves a name by the name servers of this machine. Unlike `dns.lookup`, a slow name server
 * occupies no thread, and names of the local hosts file are unknown.
 */
const resolvedByServers: ResolveAll = async (name) => {
  const answers = await Promise.allSettled([RESOLVER.resolve4(name), RESOLVER.resolve6(name)]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
};

/** Resolves a name as other programs of this machine do, for internal endpoints. */
const resolvedLocally: ResolveAll = async (name) => {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
};

/** Codes of Node.js for a certificate or a handshake that failed. */
const TLS_FAILED = /^EPROTO$|^ERR_(TLS|SSL)|CERT|SELF_SIGNED|VERIFY/;

function failureOf(error: Error & { code?: string }, signal: AbortSignal): DeliveryFailure {
  if (signal.aborted) return 'timeout';
  if (error instanceof Refused) return error.failure;
  const { code = '' } = error;
  if (code.startsWith('HPE_')) return 'broken_answer';
  return TLS_FAILED.test(code) ? 'tls_failed' : 'no_connection';
}
