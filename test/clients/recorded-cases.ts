import { type ExampleService, openExampleService } from '#deploy/apidoc/example-service';
import { accountCases, instanceCases, pageCases } from '#test/clients/endpoint-cases';
import { engineCases } from '#test/clients/engine-cases';
import { Tape } from '#test/clients/tape';
import type { WireCase } from '#test/clients/wire-case';

/** A group of cases, each recorded in an account of its own. */
type Group = (tape: Tape, accounts: Accounts) => Promise<void>;

/** Files of cases, by name. */
const GROUPS: Readonly<Record<string, Group>> = {
  instances: instanceCases,
  engine: engineCases,
  pages: pageCases,
  account: async (tape, accounts) => accountCases(tape, await accounts.buyer()),
};

type Limits = { readonly requestsPerMinute?: number; readonly cyclesPerMonth?: number };

/** Makes accounts of a service with keys. */
export class Accounts {
  readonly #service: ExampleService;

  constructor(service: ExampleService) {
    this.#service = service;
  }

  /** An account with these limits, ample if left out, and an API key of each scope. */
  async open({ requestsPerMinute = 1_000, cyclesPerMonth = 100_000 }: Limits = {}) {
    const limits = { requestsPerMinute, cyclesPerMonth };
    const choice = { plan: 'enterprise', limits } as const;
    return this.#keysOf(await this.#service.admin.createAccount({ name: 'cases', choice }));
  }

  /** A key of an account that has a customer at the payment provider. */
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
    const full = await this.#service.admin.createKey(id, { scope: 'full' });
    const read = await this.#service.admin.createKey(id, { scope: 'read' });
    return { id, full: full.key, read: read.key };
  }
}

/** All cases by file, recorded now. The same on every run. */
export async function recordedCases(): Promise<Map<string, readonly WireCase[]>> {
  const files = new Map<string, readonly WireCase[]>();
  for (const [file, record] of Object.entries(GROUPS)) {
    await using service = await openExampleService();
    await using edge = await service.listen();
    const accounts = new Accounts(service);
    const tape = new Tape(service, edge.address, (await accounts.open()).full);
    await record(tape, accounts);
    files.set(file, tape.cases);
  }
  return files;
}
