import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { soon } from '../../../../test/support/soon.ts';

/**
 * Proxy before a service that counts open event streams. The service's own gauge also counts closed
 * streams for up to 10 s.
 */
export class StreamCounter implements AsyncDisposable {
  readonly baseUrl: string;
  readonly #close: () => Promise<void>;
  #open = 0;
  /** Maximum number of streams that were open at the same time. */
  openMax = 0;

  private constructor(baseUrl: string, close: () => Promise<void>) {
    this.baseUrl = baseUrl;
    this.#close = close;
  }

  /** Starts a proxy of the service with this base URL. */
  static async start(api: string): Promise<StreamCounter> {
    const server = createServer((incoming, answer) => {
      const { method, url = '', headers } = incoming;
      const forwarded = request(new URL(url, api), { method, headers }, (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
        if (url.endsWith('/events') && response.statusCode === 200) counter.#count(answer);
      });
      forwarded.on('error', () => answer.destroy());
      answer.on('close', () => forwarded.destroy());
      incoming.pipe(forwarded);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const counter: StreamCounter = new StreamCounter(`http://127.0.0.1:${port}/v1`, async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return counter;
  }

  #count(answer: NodeJS.EventEmitter): void {
    this.#open += 1;
    this.openMax = Math.max(this.openMax, this.#open);
    answer.once('close', () => {
      this.#open -= 1;
    });
  }

  /** Waits until this number of streams is open. */
  async reaches(count: number): Promise<void> {
    await soon(`${count} open streams`, () => this.#open === count, { everyMs: 10 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}
