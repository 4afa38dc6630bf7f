import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Answer } from '#test/support/calls/caller';
import type { Service } from '#test/support/servers/service';

/** Answer timeout, in milliseconds. */
const ANSWER_MS_MAX = 20_000;

/** A raw TCP connection to the API. */
export class RawConnection implements Disposable {
  readonly socket: Socket;
  /** Whether answers have no body, as for HEAD. */
  isHeadOnly = false;
  #received = Buffer.alloc(0);
  #isEnded = false;
  #wake = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#signal();
    });
    // A reset also ends the connection. The test can still read the data received so far.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#end());
    socket.once('end', () => this.#end());
  }

  /** Whether the service has closed the connection. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Sends raw bytes or text. */
  write(bytes: string | Uint8Array): void {
    if (this.socket.writable) this.socket.write(bytes);
  }

  /** Next complete answer; undefined if the connection closed first. */
  async next(): Promise<Answer | undefined> {
    const deadline = AbortSignal.timeout(ANSWER_MS_MAX);
    for (;;) {
      const taken = takeAnswer(this.#received, this.#isEnded, this.isHeadOnly);
      if (taken !== undefined) {
        this.#received = this.#received.subarray(taken.length);
        return taken.answer;
      }
      if (this.#isEnded) return undefined;
      await this.#woken(deadline);
    }
  }

  /** Resolves when the service has closed the connection. */
  async ended(): Promise<void> {
    const deadline = AbortSignal.timeout(ANSWER_MS_MAX);
    while (!this.#isEnded) await this.#woken(deadline);
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  async #woken(deadline: AbortSignal): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const late = () => reject(new Error('no answer in time'));
    deadline.addEventListener('abort', late, { once: true });
    await Promise.race([this.#wake.promise, promise]).finally(() =>
      deadline.removeEventListener('abort', late),
    );
  }

  #end(): void {
    this.#isEnded = true;
    this.#signal();
  }

  #signal(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers<void>();
  }
}

/** Opens a new connection to the API's port. */
export async function dial(service: Service): Promise<RawConnection> {
  const { hostname, port } = new URL(service.origin);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const connection = new RawConnection(socket);
  await once(socket, 'connect');
  return connection;
}

/** Sends bytes on a new connection. Rejects without an answer. */
export async function sendRaw(service: Service, bytes: string | Uint8Array): Promise<Answer> {
  using connection = await dial(service);
  connection.isHeadOnly = bytes.toString().startsWith('HEAD ');
  connection.write(bytes);
  const answer = await connection.next();
  if (answer === undefined) throw new Error('the connection ended without an answer');
  return answer;
}

/** A request's head and body as text, with Host, and Content-Length for a body. */
export function requestText(
  method: string,
  target: string,
  headers: readonly string[] = [],
  body = '',
): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: localhost', ...headers, ...length];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

function takeAnswer(
  bytes: Buffer,
  isEnded: boolean,
  isHeadOnly: boolean,
): { answer: Answer; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers = new Headers(lines.map(pairOf));
  const bodyStart = headEnd + 4;
  const bodyLength = isHeadOnly ? 0 : Number(headers.get('content-length') ?? 0);
  if (bytes.length < bodyStart + bodyLength && !isEnded) return undefined;
  const text = bytes.toString('utf8', bodyStart, bodyStart + bodyLength);
  const isJson = headers.get('content-type')?.startsWith('application/json');
  const answer = {
    status: Number(statusLine.split(' ')[1]),
    headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
  return { answer, length: bodyStart + bodyLength };
}

function pairOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
