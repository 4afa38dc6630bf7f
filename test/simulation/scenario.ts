import type { Limits } from '#accounts/plan';
import { TRANSITIONS } from '#identity/transitions';
import {
  DISTURBANCES,
  type Disturbance,
  type DisturbanceKind,
  drawDisturbance,
} from '#test/simulation/faults/disturbances';
import type { SeededRandom } from '#test/simulation/seeded-random';
import { type BusFaults, NO_BUS_FAULTS } from '#test/simulation/simulated/bus';
import { type CourierFaults, NO_COURIER_FAULTS } from '#test/simulation/simulated/couriers';
import { type NetworkFaults, NO_NETWORK_FAULTS } from '#test/simulation/simulated/network';
import { NO_STORE_FAULTS, type StoreFaults } from '#test/simulation/simulated/store';
import { NO_REPLICA_FAULTS, type ReplicaFaults } from '#test/simulation/stored/replicas';
import { WORLD_START_MS } from '#test/simulation/world';

/** An endpoint of a scenario. Times in milliseconds. */
export type WebhookPlan = {
  /** Index of the account. */
  readonly account: number;
  /** Wanted types, as bits of their positions in `TRANSITIONS`. */
  readonly types: number;
  readonly rowsMax: number;
  /** Whether the endpoint never answers. Other endpoints must get their events nevertheless. */
  readonly isHanging: boolean;
  readonly createdAtMs: number;
  /** Time from the creation to a pause, and length of the pause. Undefined: no pause. */
  readonly pause: { readonly afterMs: number; readonly forMs: number } | undefined;
};

/** Cluster, load and faults of a seed. Times in ms. */
export type Scenario = {
  readonly engines: number;
  /** Number of limiters. With 0 limiters, every call is admitted and nothing is charged. */
  readonly limiters: number;
  readonly edges: number;
  readonly shardCount: number;
  /** Plan limits of each account. */
  readonly accounts: readonly Limits[];
  readonly instances: number;
  /** Maximum callers per instance. */
  readonly callersMax: number;
  /** Maximum pause of a caller between two calls. */
  readonly thinkMsMax: number;
  /** Share of changes with an `Idempotency-Key`. */
  readonly keyed: number;
  readonly loadMs: number;
  /** Start in Unix milliseconds. In some runs a month ends during the load. */
  readonly startMs: number;
  /** Idle age at which actors are evicted. */
  readonly idleAgeMs: number;
  /** Age at which dirty actors are checkpointed. */
  readonly checkpointAgeMs: number;
  /** Whether an operator trims histories. */
  readonly isTrimming: boolean;
  /** Whether the run checks after the faults that all deletions are stored in the promised time. */
  readonly isDeletionTimed: boolean;
  /** Maximum skew of a wall clock. */
  readonly skewMsMax: number;
  readonly store: StoreFaults;
  readonly replicas: ReplicaFaults;
  readonly bus: BusFaults;
  readonly network: NetworkFaults;
  readonly couriers: CourierFaults;
  /** Maximum failures of an event's delivery. More failures would need simulated hours. */
  readonly deliveryFailuresMax: number;
  readonly webhooks: readonly WebhookPlan[];
  readonly disturbances: readonly { readonly atMs: number; readonly what: Disturbance }[];
};

/** Fixed parts of a scenario. All other parts are random. */
export type ScenarioRequest = {
  readonly loadMs?: number;
  /** Number of limiters. */
  readonly limiters?: number;
  readonly checkpointAgeMs?: number;
  readonly keyed?: number;
  /** Number of accounts. */
  readonly accounts?: number;
  readonly isDeletionTimed?: boolean;
  readonly isTrimming?: boolean;
  /** Number of webhook endpoints. */
  readonly webhooks?: number;
  /** Share of endpoints that never answer. */
  readonly hanging?: number;
  /** Fixed faults of couriers and endpoints. */
  readonly couriers?: Partial<CourierFaults>;
  /** Kinds of disturbances. */
  readonly only?: readonly DisturbanceKind[];
  /** Number of disturbances. */
  readonly count?: number;
  /** Disables random faults of stores, bus, network and couriers, but not disturbances. */
  readonly isCalm?: boolean;
  /** Fixed store faults. */
  readonly store?: Partial<StoreFaults>;
  /** Fixed replica faults. */
  readonly replicas?: Partial<ReplicaFaults>;
};

/** A month end, which some runs reach. */
const MONTH_ENDS_MS = Date.UTC(2026, 1, 1);

/** Limits that no run reaches. */
export const AMPLE: Limits = {
  requestsPerMinute: 1_000_000,
  cyclesPerMonth: 1_000_000,
  instances: 1_000,
};

/** Draws the scenario of a seed. */
export function drawScenario(random: SeededRandom, requested: ScenarioRequest = {}): Scenario {
  const engines = random.whole(2, 5);
  const limiters = requested.limiters ?? random.whole(2, 3);
  const edges = random.whole(1, 3);
  const loadMs = requested.loadMs ?? random.between(12_000, 45_000);
  const sorts = requested.only ?? DISTURBANCES.filter(() => random.happens(0.4));
  const count = requested.count ?? Math.round(loadMs / random.between(1_500, 9_000));
  const disturbances =
    sorts.length === 0
      ? []
      : Array.from({ length: count }, () => ({
          atMs: random.between(2_000, loadMs),
          what: drawDisturbance(random.pick(sorts), random, engines + limiters, edges),
        })).sort((a, b) => a.atMs - b.atMs);
  const scenario = {
    engines,
    limiters,
    edges,
    shardCount: random.pick([4, 8, 16]),
    accounts: new Array<Limits>(requested.accounts ?? random.whole(1, 3)).fill(AMPLE),
    instances: random.whole(6, 24),
    callersMax: random.whole(1, 3),
    thinkMsMax: random.pick([100, 400, 1_500]),
    loadMs,
    idleAgeMs: random.pick([2_000, 21_000, 900_000]),
    skewMsMax: random.happens(0.5) ? 0 : 400,
    startMs: WORLD_START_MS,
    ...drawFaults(random, requested),
    disturbances,
    checkpointAgeMs: requested.checkpointAgeMs ?? random.pick([5_000, 20_000, 120_000]),
    isDeletionTimed: requested.isDeletionTimed ?? random.happens(0.15),
    keyed: requested.keyed ?? random.pick([0.2, 0.2, 0.8]),
  };
  const limited = limiters === 0 ? scenario : { ...scenario, ...drawLimits(random, scenario) };
  const isTrimming = requested.isTrimming ?? random.happens(0.3);
  // Draw webhooks last, so that the draws do not change other draws.
  return { ...limited, isTrimming, ...drawWebhooks(random, scenario, requested) };
}

/** Types of transitions of an instance's life: created, renamed, reset and deleted. */
const LIFECYCLE_TYPES = 0b1111;

/** All types of transitions. */
export const ALL_TYPES = 2 ** TRANSITIONS.length - 1;

/** Draws webhook endpoints: none in half of all runs, so that these runs stay quick. */
function drawWebhooks(
  random: SeededRandom,
  { accounts, loadMs }: Pick<Scenario, 'accounts' | 'loadMs'>,
  { webhooks, hanging = 0.2, couriers, isCalm }: ScenarioRequest,
): Pick<Scenario, 'couriers' | 'deliveryFailuresMax' | 'webhooks'> {
  const count = webhooks ?? random.pick([0, 0, 1, 2]);
  const rate = (most: number): number => most * random.pick([0, 0.2, 1]);
  const faults = {
    refused: rate(0.2),
    silent: rate(0.1),
    answerLost: rate(0.1),
    away: rate(0.05),
    broken: rate(0.05),
  };
  return {
    couriers: { ...(isCalm ? NO_COURIER_FAULTS : faults), ...couriers },
    deliveryFailuresMax: random.pick([1, 1, 2]),
    webhooks: Array.from({ length: count }, () => ({
      account: random.whole(0, accounts.length - 1),
      types: random.pick([LIFECYCLE_TYPES, ALL_TYPES]),
      rowsMax: random.pick([1, 1, 8]),
      isHanging: random.happens(hanging),
      createdAtMs: random.between(0, loadMs / 2),
      pause: random.happens(0.7)
        ? undefined
        : { afterMs: random.between(0, loadMs / 4), forMs: random.between(1_000, 4_000) },
    })),
  };
}

/** Draws plans and the start. The first account has no limits; a month may end during the load. */
function drawLimits(
  random: SeededRandom,
  { accounts, loadMs }: Pick<Scenario, 'accounts' | 'loadMs'>,
) {
  const beforeMs = random.whole(2_000, Math.ceil(loadMs));
  return {
    startMs: random.happens(0.3) ? MONTH_ENDS_MS - beforeMs : WORLD_START_MS,
    accounts: accounts.map((_, place) => (place === 0 ? AMPLE : drawPlan(random))),
  };
}

function drawPlan(random: SeededRandom): Limits {
  return random.pick([
    AMPLE,
    AMPLE,
    { ...AMPLE, cyclesPerMonth: random.whole(5, 200) },
    { ...AMPLE, requestsPerMinute: random.whole(5, 200) },
  ]);
}

function drawFaults(random: SeededRandom, { isCalm, ...fixed }: ScenarioRequest) {
  /** Draws a fault rate: 0 in half of all runs, else 5, 30 or 100 % of `most`. */
  const rate = (most: number): number =>
    random.happens(0.5) ? 0 : most * random.pick([0.05, 0.3, 1]);
  const store = {
    slow: rate(0.05),
    answerLost: rate(0.04),
    executedLate: rate(0.04),
    refused: rate(0.03),
    swallowed: rate(0.02),
    ...fixed.store,
  };
  const replicas = { ...drawReplicaFaults(random), ...fixed.replicas };
  const bus = { lost: rate(0.2), late: rate(0.8), doubled: rate(0.9) };
  const network = { lost: rate(0.01), slow: rate(0.05) };
  if (!isCalm) return { store, replicas, bus, network };
  return {
    store: NO_STORE_FAULTS,
    replicas: NO_REPLICA_FAULTS,
    bus: NO_BUS_FAULTS,
    network: NO_NETWORK_FAULTS,
  };
}

/** Draws replica faults: none in half of all runs. */
function drawReplicaFaults(random: SeededRandom): ReplicaFaults {
  if (random.happens(0.5)) return NO_REPLICA_FAULTS;
  const rate = (most: number): number => most * random.pick([0, 0.1, 0.4, 1]);
  return {
    late: rate(0.2),
    hinted: rate(0.1),
    doubled: rate(0.2),
    lost: rate(0.1),
    mute: rate(0.02),
  };
}
