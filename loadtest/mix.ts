/*
 * Which call is the nth, of which instance, with what in it. Pure and without imports: k6 runs it for
 * every request, Node in tests.
 */

/** The calls of the mix, and how many of a hundred are of each. Source: operations "Load tests". */
export const MIX = {
  process: { of100: 70, method: 'POST', route: '/v1/instances/:id/process' },
  batch: { of100: 10, method: 'POST', route: '/v1/instances/:id/process/batch' },
  snapshot: { of100: 10, method: 'GET', route: '/v1/instances/:id/snapshot' },
  contract: { of100: 5, method: 'GET', route: '/v1/instances/:id/contract' },
  history: { of100: 3, method: 'GET', route: '/v1/instances/:id/history' },
  list: { of100: 2, method: 'GET', route: '/v1/instances' },
} as const;

/** A call of the mix. */
export type Kind = keyof typeof MIX;

/** Observations of a batch. */
export const BATCH = 20;

/** Seconds from one observation of an instance to its next, by the caller's timestamps. */
export const STEP_S = 60;

/** How far back the first observation lies: more steps than any run takes. Seconds. */
export const PAST_S = 200 * 86_400;

/** Rows of a page of history and of the list. */
const PAGE = 20;

/** The seven modes, as observations name them. */
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

/** A hundred calls in the shares of the mix; 37 has no divisor in common with 100, so they are spread. */
const HUNDRED: readonly Kind[] = (() => {
  const sorted = KINDS.flatMap((kind) => Array.from({ length: MIX[kind].of100 }, () => kind));
  return sorted.map((_, index) => sorted[(index * 37) % sorted.length] ?? 'process');
})();

/** What the nth request of a run is. */
export function kindOf(n: number): Kind {
  return HUNDRED[n % HUNDRED.length] ?? 'process';
}

/**
 * Which of `count` instances the nth request is for, and its how manieth visit that is. Every instance
 * has its turn once a round, and the order moves on by one each round: else an instance would get the
 * same kind of call at every visit.
 */
export function visitOf(n: number, count: number): { instance: number; visit: number } {
  const visit = Math.floor(n / count);
  return { instance: ((n % count) + visit) % count, visit };
}

/** How strong a mode usually is of an instance: 0.1 to 0.9. */
function usualStrength(instance: number, mode: number): number {
  return 0.1 + ((instance * 7 + mode * 3) % 9) / 10;
}

/** The body that creates an instance. */
export function creationOf(instance: number): string {
  const strengths = MODES.map((mode, index) => [
    mode.toLowerCase(),
    usualStrength(instance, index),
  ]);
  const initial = { mode_strengths: Object.fromEntries(strengths) };
  return JSON.stringify({ name: `load test ${instance}`, initial_config: initial });
}

/** An observation near what the instance usually does, at a second of the caller's time. */
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

/** The path below the base address, query included, and the body of a call. */
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

/** How many cycles the answer to a call says that it made. */
export function cyclesOf(kind: Kind, body: string, isThrottled: boolean): number {
  if (isThrottled) return 0;
  if (kind === 'process') return 1;
  return kind === 'batch' ? Number(/"processed_count":(\d+)/.exec(body)?.[1] ?? 0) : 0;
}

/** How many cycles a call asks for. */
export function wantedCyclesOf(kind: Kind): number {
  if (kind === 'process') return 1;
  return kind === 'batch' ? BATCH : 0;
}

/** What is wrong with a success: it is not the documented answer about this instance. */
export function answerProblem(kind: Kind, id: string, body: string): string | undefined {
  if (!body.startsWith('{"data":')) return `${kind}: no envelope`;
  switch (kind) {
    case 'process':
    case 'snapshot':
      return body.includes(`"instance_id":"${id}"`) ? undefined : `${kind}: of another instance`;
    case 'batch':
      return /"processed_count":\d+/.test(body) ? undefined : 'batch: no processed_count';
    case 'contract':
      return body.includes('"allowed_actions"') ? undefined : 'contract: no actions';
    case 'history':
    case 'list':
      return body.includes('"pagination"') ? undefined : `${kind}: no pagination`;
  }
}
