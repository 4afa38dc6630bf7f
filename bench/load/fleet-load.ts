import { setTimeout as pause } from 'node:timers/promises';

/** Observations of a fleet call: the maximum. */
export const FLEET_OBSERVATIONS = 1_000;

type Called = { readonly address: string; readonly key: string };

/** Time that an overloaded service asks callers to wait, in milliseconds. */
const REFUSED_MS = 1_000;

type Results = readonly {
  readonly status: string;
  readonly refusal?: { readonly details: { readonly reason?: string } };
}[];

/** Sends fleet calls for its own instances. Each call observes every instance once. */
export class FleetLoad {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #ids: readonly string[];
  #second = Math.floor(Date.now() / 1_000) - 10_000_000;

  private constructor(service: Called, ids: readonly string[]) {
    this.#url = `${service.address}/v1`;
    this.#headers = headersOf(service.key);
    this.#ids = ids;
  }

  /** Creates the instances. */
  static async create(service: Called): Promise<FleetLoad> {
    const ids: string[] = [];
    const init = { method: 'POST', headers: headersOf(service.key), body: '{"name":"fleet"}' };
    for (let at = 0; at < FLEET_OBSERVATIONS; at += 1) {
      const answer = await fetch(`${service.address}/v1/instances`, init);
      const { data } = (await answer.json()) as { readonly data: { readonly id: string } };
      ids.push(data.id);
    }
    return new FleetLoad(service, ids);
  }

  /**
   * Sends one call. Returns the number of applied observations. If the service refuses some because
   * too many changes wait for their checkpoints, waits as the refusals ask. Throws on other refusals.
   */
  async send(): Promise<number> {
    this.#second += 60;
    const timestamp = new Date(this.#second * 1_000).toISOString();
    const observations = this.#ids.map((instance_id, at) => {
      const context = { channel: 'chat', turn: at };
      const signal_strength = (at % 100) / 100;
      return { instance_id, mode_target: 'ORDER', signal_strength, context, timestamp };
    });
    const body = JSON.stringify({ observations });
    const answer = await fetch(`${this.#url}/process`, {
      ...{ method: 'POST', headers: this.#headers, body },
    });
    const { data } = (await answer.json()) as {
      readonly data: { readonly summary: { readonly applied: number }; readonly results: Results };
    };
    const refused = data.results.filter(({ status }) => status !== 'applied');
    const other = refused.find(({ refusal }) => refusal?.details.reason !== 'overloaded');
    if (other !== undefined) throw new Error(`not applied: ${JSON.stringify(other)}`);
    if (refused.length > 0) await pause(REFUSED_MS);
    return data.summary.applied;
  }
}

/** Headers of a call with a JSON body. */
export function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}
