import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

/** An event of a message, as in `GET /events`. */
type ReceivedEvent = { readonly id: string; readonly instance_id: string };

/** The first arrival of an event. */
type Arrival = {
  /** The event as JSON. */
  readonly json: string;
  /** Time from the commit of the change until the arrival, in milliseconds. */
  readonly lagMs: number;
  /** Whether the message says that earlier changes of the instance are missing. */
  readonly followsGap: boolean;
};

type Message = {
  readonly timestamp: string;
  readonly follows_gap?: boolean;
  readonly data: readonly (ReceivedEvent & { readonly occurred_at: string })[];
};

/** What an account has received: the first arrival of each event id, in order of arrival. */
export class Inbox {
  readonly arrivals = new Map<string, Arrival>();
  /** Number of arrivals of events that had arrived before. */
  repeated = 0;
  /** Ids of events that arrived again with another content. */
  readonly changed: string[] = [];

  take({ data, follows_gap }: Message, nowMs: number): void {
    for (const event of data) {
      const { id, occurred_at } = event;
      const json = JSON.stringify(event);
      const known = this.arrivals.get(id);
      if (known === undefined) {
        const lagMs = nowMs - Date.parse(occurred_at);
        this.arrivals.set(id, { json, lagMs, followsGap: follows_gap === true });
      } else {
        this.repeated += 1;
        if (known.json !== json) this.changed.push(id);
      }
    }
  }
}

/** Webhook endpoint on loopback that keeps what each account sends. */
export class WebhookReceiver implements AsyncDisposable {
  readonly #server = createServer((request, response) => {
    this.#receive(request).then(
      (status) => response.writeHead(status).end(),
      () => response.destroy(),
    );
  });
  readonly #secrets = new Map<string, string>();
  readonly #inboxes = new Map<string, Inbox>();
  /** Number of messages whose signature was wrong. */
  refused = 0;

  /** Opens a receiver on a free port. */
  static async open(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    const server = receiver.#server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  /** Address for the messages of an account. */
  urlOf(accountId: string): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/${accountId}`;
  }

  /** Accepts the messages of an account that are signed with this secret. */
  accept(accountId: string, secret: string): void {
    this.#secrets.set(accountId, secret);
  }

  inboxOf(accountId: string): Inbox {
    const inbox = this.#inboxes.get(accountId) ?? new Inbox();
    this.#inboxes.set(accountId, inbox);
    return inbox;
  }

  async #receive(request: IncomingMessage): Promise<number> {
    const accountId = request.url?.slice(1) ?? '';
    const body = await text(request);
    try {
      const secret = this.#secrets.get(accountId) ?? '';
      const headers = request.headers as Record<string, string>;
      const message = new Webhook(secret).verify(body, headers) as Message;
      this.inboxOf(accountId).take(message, Date.now());
      return 204;
    } catch {
      this.refused += 1;
      return 400;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}
