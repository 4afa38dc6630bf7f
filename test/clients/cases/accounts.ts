import { WHOLE_SCOPE } from '#accounts/api-key';
import type { ExampleService } from '#deploy/apidoc/example-service';

type Limits = {
  readonly requestsPerMinute?: number;
  readonly cyclesPerMonth?: number;
  readonly instances?: number;
};

/** Creates accounts with API keys for recordings. */
export class Accounts {
  readonly #service: ExampleService;

  constructor(service: ExampleService) {
    this.#service = service;
  }

  /** Creates an account with these limits (default: large limits), a full key and a read key. */
  async open(limits: Limits = {}) {
    const ample = { requestsPerMinute: 1_000, cyclesPerMonth: 100_000 };
    const choice = { plan: 'enterprise', limits: { ...ample, ...limits } } as const;
    return this.#keysOf(await this.#service.admin.createAccount({ name: 'cases', choice }));
  }

  /** Creates an account that has bought a plan. Returns the API key. */
  async buyer(): Promise<string> {
    const account = { name: 'cases', choice: { plan: 'free' } } as const;
    const { id, full } = await this.#keysOf(await this.#service.admin.createAccount(account));
    const object = { id: 'cs_0', object: 'checkout.session', mode: 'subscription' };
    const bought = { ...object, customer: 'cus_0', client_reference_id: id };
    const type = 'checkout.session.completed';
    const event = { id: 'evt_0', object: 'event', type, created: 1, data: { object: bought } };
    const body = JSON.stringify(event);
    const headers = { 'stripe-signature': this.#service.signatureOf(body) };
    await this.#service.ask({ method: 'POST', url: '/billing/notifications', headers, body });
    return full;
  }

  async #keysOf({ id }: { readonly id: string }) {
    const full = await this.#service.admin.createKey(id, { scope: WHOLE_SCOPE });
    const read = await this.#service.admin.createKey(id, { scope: 'read' });
    return { id, full: full.key, read: read.key };
  }
}
