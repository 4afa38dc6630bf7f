/** Observations of a fleet call: the maximum. */
export const FLEET_OBSERVATIONS = 1_000;

type Called = { readonly address: string; readonly key: string };

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

  /** Sends one call. Throws unless the service applied every observation. */
  async send(): Promise<void> {
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
      readonly data: { readonly summary: { readonly applied: number } };
    };
    const { applied } = data.summary;
    if (applied !== FLEET_OBSERVATIONS) throw new Error(`${applied} observations were applied`);
  }
}

/** Headers of a call with a JSON body. */
export function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}
