/*
 * Load profiles as data: content, rate and phases. No imports, because k6 and Node read this file.
 */

/** Content of a load: the mix of calls, the limits of a plan, or a single instance. */
type Load = 'mixed' | 'limits' | 'hot';

/** A period with a constant rate or a ramp, in started requests per second. */
export type Phase = {
  /** Unique name in the profile: k6's scenario, and the tag of its metrics. */
  readonly name: string;
  readonly fromPerS: number;
  readonly toPerS: number;
  readonly seconds: number;
  /** Whether the latency objective applies. */
  readonly isJudged: boolean;
};

/** A kind of load test. */
export type Profile = {
  readonly title: string;
  readonly load: Load;
  /** Default `RATE` in requests per second. */
  readonly perS: number;
  /** Default `DURATION` in seconds. */
  readonly seconds: number;
  /** Minimum duration: shorter phases would be meaningless. */
  readonly secondsMin: number;
  /** Maximum number of requests in flight, divided by the rate. Above, k6 drops iterations. */
  readonly patienceS: number;
  readonly phases: (perS: number, seconds: number) => Phase[];
  /** Whether growing resource usage under this load is a failure. Default: false. */
  readonly isSteady?: boolean;
};

/** Maximum recovery time after a spike, in seconds. Source: the project's targets. */
const BACK_WITHIN_S = 5;

/** Time of slower calls after a kill, in seconds: failure detection and takeover. */
const TAKEOVER_S = 10;

/** Spike rate as a multiple of `RATE`. Source: the project's targets. */
const SPIKE_FACTOR = 5;

/** Stress rate as a multiple of `RATE`. */
const STRESS_FACTOR = 2;

/** Number of steps up to `RATE`. */
const BREAKPOINT_STEPS = 10;

/** Maximum warm-up in seconds, for connections, activations and JIT compilation. */
const WARM_UP_S_MAX = 30;
const WARM_UP_PART = 1 / 6;

const held = (name: string, perS: number, seconds: number): Phase => {
  return { name, fromPerS: perS, toPerS: perS, seconds, isJudged: true };
};

const ramp = (name: string, fromPerS: number, toPerS: number, seconds: number): Phase => {
  return { name, fromPerS, toPerS, seconds, isJudged: false };
};

/** Prepends a ramp from zero, which takes a sixth of the time and at most 30 s. */
function warmed(phases: (perS: number, seconds: number) => Phase[]): Profile['phases'] {
  return (perS, seconds) => {
    const warmUpS = Math.min(WARM_UP_S_MAX, seconds * WARM_UP_PART);
    return [ramp('warm_up', 0, perS, warmUpS), ...phases(perS, seconds - warmUpS)];
  };
}

function stressPhases(perS: number, seconds: number): Phase[] {
  const high = perS * STRESS_FACTOR;
  return [
    held('base', perS, seconds * 0.2),
    ramp('rise', perS, high, seconds * 0.1),
    held('high', high, seconds * 0.4),
    ramp('fall', high, perS, seconds * 0.1),
    held('after', perS, seconds * 0.2),
  ];
}

function spikePhases(perS: number, seconds: number): Phase[] {
  const rest = seconds - BACK_WITHIN_S;
  return [
    held('before', perS, rest * 0.4),
    { ...held('spike', perS * SPIKE_FACTOR, rest * 0.2), isJudged: false },
    { ...held('settling', perS, BACK_WITHIN_S), isJudged: false },
    held('after', perS, rest * 0.4),
  ];
}

function soakPhases(perS: number, seconds: number): Phase[] {
  return [
    held('first', perS, seconds / 4),
    held('middle', perS, seconds / 2),
    held('last', perS, seconds / 4),
  ];
}

function breakpointPhases(perS: number, seconds: number): Phase[] {
  return Array.from({ length: BREAKPOINT_STEPS }, (_, index) => {
    const number = String(index + 1).padStart(2, '0');
    const rate = (perS * (index + 1)) / BREAKPOINT_STEPS;
    return held(`step_${number}`, rate, seconds / BREAKPOINT_STEPS);
  });
}

function failoverPhases(perS: number, seconds: number): Phase[] {
  const rest = seconds - TAKEOVER_S;
  return [
    held('before', perS, rest * 0.4),
    { ...held('takeover', perS, TAKEOVER_S), isJudged: false },
    held('after', perS, rest * 0.6),
  ];
}

/** Phase of `failover` that starts with the kill of an engine. */
export const KILL_PHASE = 'takeover';

const steady = (perS: number, seconds: number): Phase[] => [held('steady', perS, seconds)];

/** Profiles, by `PROFILE` name. */
export const PROFILES = {
  smoke: {
    title: 'a few calls of every kind, as a smoke test',
    ...{ load: 'mixed', perS: 10, seconds: 15, secondsMin: 1, patienceS: 3 },
    phases: steady,
  },
  average: {
    title: 'a constant usual load',
    ...{ load: 'mixed', perS: 100, seconds: 300, secondsMin: 10, patienceS: 2 },
    phases: warmed(steady),
    isSteady: true,
  },
  stress: {
    title: 'twice the usual load, then the usual load again',
    ...{ load: 'mixed', perS: 100, seconds: 300, secondsMin: 20, patienceS: 2 },
    phases: warmed(stressPhases),
  },
  spike: {
    title: 'five times the usual load without a ramp, then the usual load again',
    ...{ load: 'mixed', perS: 50, seconds: 120, secondsMin: 20, patienceS: 3 },
    phases: warmed(spikePhases),
  },
  soak: {
    title: 'a constant load for hours: no growth, no slower answers',
    ...{ load: 'mixed', perS: 70, seconds: 7_200, secondsMin: 20, patienceS: 2 },
    phases: warmed(soakPhases),
    isSteady: true,
  },
  breakpoint: {
    title: 'ten rising steps: the highest rate that keeps every objective',
    ...{ load: 'mixed', perS: 600, seconds: 300, secondsMin: 20, patienceS: 2 },
    phases: breakpointPhases,
  },
  failover: {
    title: 'an engine is killed under load',
    ...{ load: 'mixed', perS: 50, seconds: 60, secondsMin: 16, patienceS: 11 },
    phases: warmed(failoverPhases),
  },
  limiter: {
    title: 'twice the limits of a plan: the service admits exactly the plan',
    ...{ load: 'limits', perS: 40, seconds: 130, secondsMin: 10, patienceS: 3 },
    phases: steady,
  },
  'hot-instance': {
    title: 'many observations per second of a single instance, timestamped by the caller',
    ...{ load: 'hot', perS: 20, seconds: 60, secondsMin: 5, patienceS: 5 },
    phases: warmed(steady),
  },
} as const satisfies Record<string, Profile>;

/** Name of a profile. */
export type ProfileName = keyof typeof PROFILES;

/** A run of a profile, without its target. */
export type Demand = {
  readonly name: ProfileName;
  readonly perS: number;
  readonly seconds: number;
};

/** Whether `name` is the name of a profile. */
export function isProfileName(name: string): name is ProfileName {
  return Object.hasOwn(PROFILES, name);
}

/** Phases of a run in order. */
export function phasesOf({ name, perS, seconds }: Demand): Phase[] {
  return PROFILES[name].phases(perS, seconds);
}

/** Whether the load is constant, so that growing resource usage is a failure. */
export function isSteady({ name }: Demand): boolean {
  const profile: Profile = PROFILES[name];
  return profile.isSteady ?? false;
}

/** Maximum rate of a run, in requests per second. */
export function peakOf(demand: Demand): number {
  return Math.max(...phasesOf(demand).map(({ fromPerS, toPerS }) => Math.max(fromPerS, toPerS)));
}

/** Number of requests in a phase. */
export function requestsOf({ fromPerS, toPerS, seconds }: Phase): number {
  return Math.ceil(((fromPerS + toPerS) / 2) * seconds);
}

/** Number of instances in a run: two per request in the fastest second. */
export function instancesOf(demand: Demand): number {
  // A multiple of ten, so that an instance gets different kinds of calls; see `visitOf`.
  return PROFILES[demand.name].load === 'hot'
    ? 1
    : Math.max(10, Math.ceil(peakOf(demand) / 5) * 10);
}
