import { randomBytes } from 'node:crypto';
import type { Party } from '#test/fuzz/party';
import { type Finding, playRound } from '#test/fuzz/round';
import { type Caller, newCaller } from '#test/support/calls/caller';
import type { Service } from '#test/support/servers/service';

/** Instances per party at the start of a round. */
const INSTANCES = 2;

type Member = { readonly caller: Caller; readonly party: Party };

/** Plays consecutive rounds with two accounts, which no other lane uses. */
export class Lane {
  readonly #port: number;
  readonly #members: readonly Member[];

  private constructor(port: number, members: readonly Member[]) {
    this.#port = port;
    this.#members = members;
  }

  static async open(service: Service): Promise<Lane> {
    const members = await Promise.all(
      ['first', 'second'].map(async (name) => {
        const caller = await newCaller(service);
        const marker = `${name}-${randomBytes(6).toString('hex')}`;
        return { caller, party: { name, key: caller.key, marker, ids: [] } };
      }),
    );
    return new Lane(Number(new URL(service.origin).port), members);
  }

  /** Creates instances, plays the round for a seed, and deletes all instances of both accounts. */
  async play(seed: number): Promise<{ readonly findings: Finding[]; readonly talks: number }> {
    for (const { caller, party } of this.#members) {
      for (let count = 0; count < INSTANCES; count += 1) {
        const answer = await caller.send('POST', '/instances', { json: { name: party.marker } });
        party.ids.push(answer.body.data.id);
      }
    }
    const played = await playRound(
      seed,
      this.#port,
      this.#members.map(({ party }) => party),
    );
    for (const member of this.#members) await cleared(member);
    return played;
  }
}

async function cleared({ caller, party }: Member): Promise<void> {
  for (;;) {
    const { body } = await caller.send('GET', '/instances?limit=100');
    if (body.data.length === 0) break;
    for (const { id } of body.data) await caller.send('DELETE', `/instances/${id}`);
  }
  party.ids.length = 0;
}
