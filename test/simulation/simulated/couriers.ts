import { Fault } from '#errors/fault';
import type { CourierClient, CourierOutcome, OutgoingMessage } from '#grpc/courier-messages';
import type { DeliveryAttempt, DeliveryWatch } from '#test/simulation/checks/deliveries';
import type { SeededRandom } from '#test/simulation/seeded-random';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import type { World } from '#test/simulation/world';

/** Time from an engine through a courier to an endpoint and back, in milliseconds. */
const ANSWERED_MS = { from: 1, to: 120 };

/** Time of a slow delivery, in milliseconds, and its share. */
const SLOW_MS = { from: 120, to: 4_000 };
const SLOW = 0.05;

/** Time after which a courier reports that the endpoint did not answer, in milliseconds. */
const TIMEOUT_MS = { from: 500, to: 10_000 };

/** Share of attempts after which the courier returns secrets that it has sealed again. */
const RESEALED = 0.03;

/** Fault probabilities for each attempt. */
export type CourierFaults = {
  /** The endpoint answers with status 500. */
  readonly refused: number;
  /** The endpoint gets no message, and the courier reports a timeout. */
  readonly silent: number;
  /** The endpoint takes the message, maybe late. The courier reports a timeout. */
  readonly answerLost: number;
  /** No courier takes the message. */
  readonly away: number;
  /** The endpoint takes the message, but the connection to the courier breaks. */
  readonly broken: number;
};

/** Couriers and endpoints without faults. */
export const NO_COURIER_FAULTS: CourierFaults = {
  refused: 0,
  silent: 0,
  answerLost: 0,
  away: 0,
  broken: 0,
};

/** Faults that the engine counts as failures of the endpoint. */
const FAILURES: ReadonlySet<string> = new Set(['refused', 'silent', 'answerLost']);

/** A deliberate flaw: replaces the couriers of a process. */
export type CourierFlaw = (client: CourierClient) => CourierClient;

type AttemptFault = keyof CourierFaults | 'none';

/** Simulated couriers, with the endpoints behind. */
export class SimulatedCouriers {
  faults: CourierFaults = NO_COURIER_FAULTS;
  readonly #world: World;
  readonly watch: DeliveryWatch;
  readonly #failuresMax: number;
  readonly #flaw: CourierFlaw;
  readonly #random: SeededRandom;
  /** Ids of endpoints that never take a message, also after the faults. */
  readonly hanging = new Set<string>();
  /** Failures by endpoint and event. */
  readonly #failures = new Map<string, number>();

  /** `failuresMax`: maximum failures of an event, which bound the time until its delivery. */
  constructor(
    world: World,
    watch: DeliveryWatch,
    failuresMax: number,
    flaw: CourierFlaw = (client) => client,
  ) {
    this.#world = world;
    this.watch = watch;
    this.#failuresMax = failuresMax;
    this.#flaw = flaw;
    this.#random = world.random.fork();
  }

  /** Couriers for a process. `incarnation`: current incarnation of the process. */
  portOf(process: SimulatedProcess, incarnation: () => string | undefined): CourierClient {
    return this.#flaw({
      ask: (message) => {
        const attempt = this.watch.begin(incarnation(), message);
        return this.#attempt(process, message, attempt);
      },
    });
  }

  #attempt(
    process: SimulatedProcess,
    { id, sealedSecrets }: OutgoingMessage,
    attempt: DeliveryAttempt,
  ): Promise<CourierOutcome> {
    const random = this.#random;
    const fault = this.#drawFault(attempt);
    this.#world.note(`${process.name} sends ${id}: ${fault}`);
    const times = random.happens(SLOW) ? SLOW_MS : ANSWERED_MS;
    const answeredMs = random.between(times.from, times.to);
    const timeoutMs = random.between(TIMEOUT_MS.from, TIMEOUT_MS.to);
    const isTaken = fault === 'none' || fault === 'answerLost' || fault === 'broken';
    if (isTaken) {
      this.#world.after(answeredMs * random.unit(), () => {
        this.#world.note(`the endpoint takes ${id} from ${process.name}`);
        this.watch.take(attempt);
      });
    }
    const resealed = random.happens(RESEALED) ? { resealed: sealedSecrets.map(sealedAgain) } : {};
    const endMs = fault === 'silent' || fault === 'answerLost' ? timeoutMs : answeredMs;
    return new Promise((resolve, reject) => {
      process.later(endMs, () => {
        this.watch.end(attempt);
        if (fault === 'away' || fault === 'broken') reject(away());
        else resolve({ ...outcomeOf(fault), ...resealed });
      });
    });
  }

  #drawFault(attempt: DeliveryAttempt): AttemptFault {
    if (this.hanging.has(attempt.endpointId)) return 'silent';
    let drawn = this.#random.unit();
    for (const [name, share] of Object.entries(this.faults)) {
      drawn -= share;
      if (drawn >= 0) continue;
      const fault = name as keyof CourierFaults;
      return FAILURES.has(fault) && !this.#mayFail(attempt) ? 'none' : fault;
    }
    return 'none';
  }

  /** Whether no event of the message has failed too often. If so, counts the failure. */
  #mayFail({ endpointId, events }: DeliveryAttempt): boolean {
    const keys = events.map(({ id }) => `${endpointId} ${id}`);
    const failures = keys.map((key) => this.#failures.get(key) ?? 0);
    if (Math.max(...failures) >= this.#failuresMax) return false;
    for (const [place, key] of keys.entries()) this.#failures.set(key, (failures[place] ?? 0) + 1);
    return true;
  }
}

function outcomeOf(fault: AttemptFault): CourierOutcome {
  if (fault === 'silent' || fault === 'answerLost') return { kind: 'failed', failure: 'timeout' };
  return { kind: 'answered', status: fault === 'refused' ? 500 : 204, retryAfter: undefined };
}

function sealedAgain(secret: string): string {
  return secret === 'sealed' ? 'sealed again' : 'sealed';
}

function away(): Fault {
  return new Fault('service_unavailable', 'no courier answered', { isOutcomeUnknown: true });
}
