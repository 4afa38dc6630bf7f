import type { Caller } from '#test/support/calls/caller';
import { createInstance, observationAt } from '#test/support/calls/scene';

/** Instances, each continuously observed by its own caller. */
const INSTANCES = 12;

/** Every fifth call of a caller is a batch, and every third a read. */
const BATCH_EVERY = 5;
const READ_EVERY = 3;
const BATCH_LENGTH = 3;

/**
 * Pause between two calls of a caller, in milliseconds. The load of about 400 calls per second
 * leaves CPU time for the upgrade.
 */
const PAUSE_MS = 25;

/** Polling interval of the load, in milliseconds. */
const LOOK_MS = 20;

/** Acknowledged cycles and failures. */
export type SteadyLoad = {
  /** Cycles by instance. */
  readonly acknowledged: Map<string, number>;
  /** Correct answers. */
  calls: number;
  readonly wrong: string[];
  /** Resolves after one more observation of every instance, or after a failure. */
  servedOn(): Promise<void>;
  /** Stops after all calls in flight are answered. */
  stop(): Promise<void>;
};

/** Starts endless calls, sequential per instance: observations, batches and reads. */
export async function startLoad(caller: Caller): Promise<SteadyLoad> {
  const ids = await Promise.all(Array.from({ length: INSTANCES }, () => createInstance(caller)));
  const acknowledged = new Map(ids.map((id) => [id, 0]));
  const state = { isOver: false };
  let second = 0;
  const load: SteadyLoad = {
    acknowledged,
    calls: 0,
    wrong: [],
    async servedOn() {
      const before = new Map(acknowledged);
      const isServed = (id: string) => acknowledged.get(id) !== before.get(id);
      while (load.wrong.length === 0 && !ids.every(isServed)) await passed(LOOK_MS);
    },
    async stop() {
      state.isOver = true;
      await Promise.all(callers);
    },
  };

  /** Reads an instance. Returns the fault in the answer, if any. */
  async function read(id: string): Promise<string | undefined> {
    const cycle = acknowledged.get(id) ?? 0;
    const { status, text, body } = await caller.send('GET', `/instances/${id}/snapshot`);
    if (status !== 200) return `${status} ${text}`;
    return body.data.cycle === cycle
      ? undefined
      : `read cycle ${body.data.cycle} instead of ${cycle}`;
  }

  /** Sends an observation or batch. Returns the fault in the answer, if any. */
  async function observe(id: string, count: number): Promise<string | undefined> {
    const cycle = acknowledged.get(id) ?? 0;
    const start = second + 1;
    second += count + 1;
    const seen = Array.from({ length: count }, (_, place) => observationAt(start + place));
    const [path, json] =
      count > 1 ? ['process/batch', { observations: seen }] : ['process', seen[0]];
    const { status, text, body } = await caller.send('POST', `/instances/${id}/${path}`, { json });
    if (status !== 200) return `${status} ${text}`;
    acknowledged.set(id, cycle + count);
    const now = body.data.snapshot.cycle;
    return now === cycle + count ? undefined : `cycle ${now} follows cycle ${cycle} in ${path}`;
  }

  const call = (id: string, turn: number) => {
    if (turn % READ_EVERY === 0) return read(id);
    return observe(id, turn % BATCH_EVERY === 0 ? BATCH_LENGTH : 1);
  };

  const callers = ids.map(async (id) => {
    for (let turn = 1; !state.isOver; turn += 1) {
      const wrong = await call(id, turn).catch(
        (error: Error) => `${error.message}: ${error.cause}`,
      );
      if (wrong === undefined) load.calls += 1;
      else load.wrong.push(`${id}: ${wrong}`);
      await passed(PAUSE_MS);
    }
  });
  return load;
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
