/*
 * The nth call of a run: kind, instance and content. Pure functions without imports. k6 calls them
 * for every request, and the tests call them in Node.
 */

/** Calls of the mix with their percentages. Source: loadtest/README.md, "Mix". */
export const MIX = {
  process: { of100: 70, method: 'POST', route: '/v1/instances/:id/process' },
  batch: { of100: 10, method: 'POST', route: '/v1/instances/:id/process/batch' },
  snapshot: { of100: 10, method: 'GET', route: '/v1/instances/:id/snapshot' },
  contract: { of100: 5, method: 'GET', route: '/v1/instances/:id/contract' },
  history: { of100: 3, method: 'GET', route: '/v1/instances/:id/history' },
  list: { of100: 2, method: 'GET', route: '/v1/instances' },
} as const;

/** Name of a call in the mix. */
export type Kind = keyof typeof MIX;

/** Observations per batch. */
export const BATCH = 20;

/**
 * Seconds between two calls that observe the same instance. Observations of a batch are one second
 * apart.
 */
export const STEP_S = 60;

/**
 * Age of the first observation in seconds. Longer than the observed time of a run, so that no
 * timestamp lies in the future.
 */
export const PAST_S = 200 * 86_400;

/** Rows per page of history and list. */
const PAGE = 20;

/** The seven modes, by their names in observations. */
export const MODES = [
  'PERCEPTION',
  'EXPLORATION',
  'ORDER',
  'ASSERTION',
  'CONNECTION',
  'IDENTITY',
  'STRESS_RESPONSE',
] as const;

const KINDS = Object.keys(MIX) as Kind[];

/** Kinds of a hundred consecutive calls. Step 37 is coprime to 100 and spreads the kinds evenly. */
const HUNDRED: readonly Kind[] = (() => {
  const sorted = KINDS.flatMap((kind) => Array.from({ length: MIX[kind].of100 }, () => kind));
  return sorted.map((_, index) => sorted[(index * 37) % sorted.length] ?? 'process');
})();

/** Kind of the nth request. */
export function kindOf(n: number): Kind {
  return HUNDRED[n % HUNDRED.length] ?? 'process';
}

/**
 * Instance of the nth request among `count` instances, and the number of earlier visits to this
 * instance. Every instance has one visit per round. The order shifts by one per round, so that an
 * instance gets different kinds of calls.
 */
export function visitOf(n: number, count: number): { instance: number; visit: number } {
  const visit = Math.floor(n / count);
  return { instance: ((n % count) + visit) % count, visit };
}

/** Usual strength of an instance in a mode: 0.1 to 0.9. */
function usualStrength(instance: number, mode: number): number {
  return 0.1 + ((instance * 7 + mode * 3) % 9) / 10;
}

/** Body of the call that creates an instance. */
export function creationOf(instance: number): string {
  const strengths = MODES.map((mode, index) => [
    mode.toLowerCase(),
    usualStrength(instance, index),
  ]);
  const initial = { mode_strengths: Object.fromEntries(strengths) };
  return JSON.stringify({ name: `load test ${instance}`, initial_config: initial });
}

/** A typical observation of the instance with timestamp `second`, in Unix seconds. */
export function observationOf(n: number, instance: number, second: number) {
  const mode = n % MODES.length;
  const signal = usualStrength(instance, mode) + ((n % 5) - 2) * 0.04;
  return {
    mode_target: MODES[mode],
    signal_strength: Math.min(1, Math.max(0, signal)),
    confidence: 0.6 + (n % 4) * 0.1,
    context: { channel: 'chat', turn: n % 101 },
    timestamp: new Date(second * 1_000).toISOString(),
  };
}

/** Path (with query, relative to the base address) and body of a call. */
export function requestOf(
  kind: Kind,
  id: string,
  { n, instance, second }: { n: number; instance: number; second: number },
): { path: string; body: string | undefined } {
  const path = MIX[kind].route.replace(':id', id);
  switch (kind) {
    case 'process':
      return { path, body: JSON.stringify(observationOf(n, instance, second)) };
    case 'batch': {
      const observations = Array.from({ length: BATCH }, (_, index) =>
        observationOf(n + index, instance, second + index),
      );
      return { path, body: JSON.stringify({ observations }) };
    }
    case 'history':
    case 'list':
      return { path: `${path}?limit=${PAGE}`, body: undefined };
    case 'snapshot':
    case 'contract':
      return { path, body: undefined };
  }
}

/** Number of cycles that an answer reports. */
export function cyclesOf(kind: Kind, body: string, isThrottled: boolean): number {
  if (isThrottled) return 0;
  if (kind === 'process') return 1;
  return kind === 'batch' ? Number(/"processed_count":(\d+)/.exec(body)?.[1] ?? 0) : 0;
}

/** Number of cycles that a call requests. */
export function wantedCyclesOf(kind: Kind): number {
  if (kind === 'process') return 1;
  return kind === 'batch' ? BATCH : 0;
}

/**
 * Describes how a 2xx answer differs from the documented answer for this instance; undefined if the
 * answer is correct.
 */
export function answerProblem(kind: Kind, id: string, body: string): string | undefined {
  if (!body.startsWith('{"data":')) return `${kind}: no envelope`;
  switch (kind) {
    case 'process':
    case 'snapshot':
      return body.includes(`"instance_id":"${id}"`)
        ? undefined
        : `${kind}: answer for another instance`;
    case 'batch':
      return /"processed_count":\d+/.test(body) ? undefined : 'batch: no processed_count';
    case 'contract':
      return body.includes('"allowed_actions"') ? undefined : 'contract: no actions';
    case 'history':
    case 'list':
      return body.includes('"pagination"') ? undefined : `${kind}: no pagination`;
  }
}
