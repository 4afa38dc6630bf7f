import { z } from 'zod';
import type { Bus, Sender } from '#bus/bus';
import { senderMarkOf } from '#bus/sender-key';
import { decodeJson, encodeJson } from '#cluster/json-message';
import type { Clock } from '#stdlib/clock';

/** Roles of processes that are not nodes. They send no heartbeats but answer roll calls. */
export const CALLED_ROLES = ['edge', 'console'] as const;

/** Role of a process that answers roll calls. */
export type CalledRole = (typeof CALLED_ROLES)[number];

/** Bus, clock and cluster of a roll call. */
type Place = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Prefix of all subjects. */
  readonly prefix: string;
  /** Id of the cluster. Messages of other clusters are ignored. */
  readonly cluster: string;
};

/** Maximum size of a message, in bytes: the longest names in UTF-8. */
const MESSAGE_BYTES_MAX = 4 * 1_024;

/** Maximum length of a name or an id, in characters. A host name has at most 253. */
const TEXT_LENGTH_MAX = 300;

/** Maximum number of processes whose answers are kept. Further answers are dropped. */
const PROCESSES_MAX = 4_096;

/**
 * Delay between a roll call and the answer, in milliseconds. All roll calls within the delay get
 * one answer, so callers cannot cause more than five answers per second. The delay also gives NATS
 * servers time to propagate the caller's subscription.
 */
const ANSWER_DELAY_MS = 200;

const text = z.string().min(1).max(TEXT_LENGTH_MAX);

// The schemas drop unknown fields, so that a newer version can add fields.
const callSchema = z.object({ cluster: text });

const answerSchema = z.object({
  cluster: text,
  role: z.enum(CALLED_ROLES),
  /** Name of the process in its log lines. */
  node: text,
  /** Release of the process, for display. */
  release: text,
  /** Unix time at which the process became ready. */
  startedAtMs: z.int().min(0).max(8_640_000_000_000_000),
});

/** Answer of one process to a roll call. */
export type PresentProcess = Readonly<Omit<z.infer<typeof answerSchema>, 'cluster'>> & {
  /** Id of one process start, 16 characters. Undefined if the bus does not authenticate senders. */
  readonly incarnation: string | undefined;
};

/** Subject of roll calls. */
export function rollCallSubject(prefix: string): string {
  return `${prefix}.roll-call`;
}

/** Subject of answers to roll calls. */
export function presentSubject(prefix: string): string {
  return `${prefix}.present`;
}

/**
 * Answers roll calls until disposed. An answer is sent 200 ms after a roll call and answers all
 * roll calls that arrive in that time.
 */
export function answerRollCalls(
  { bus, clock, prefix, cluster }: Place,
  self: Omit<PresentProcess, 'incarnation'>,
): Disposable {
  const opened = new DisposableStack();
  let isAnswering = false;

  function answer(): void {
    isAnswering = false;
    if (opened.disposed) return;
    bus.publish(presentSubject(prefix), encodeJson({ ...self, cluster }));
  }

  function hear(message: Uint8Array): void {
    if (isAnswering) return;
    const call = callSchema.safeParse(decodeJson(message, MESSAGE_BYTES_MAX)).data;
    if (call?.cluster !== cluster) return;
    isAnswering = true;
    clock.after(ANSWER_DELAY_MS, answer);
  }

  opened.use(bus.subscribe(rollCallSubject(prefix), hear));
  return opened;
}

/** Publishes a roll call and collects answers until disposed. */
export function callRoll({ bus, prefix, cluster }: Omit<Place, 'clock'>): Disposable & {
  /** Processes that have answered, sorted by role and name. */
  readonly present: () => readonly PresentProcess[];
} {
  const answers = new Map<string, PresentProcess>();

  function hear(message: Uint8Array, sender?: Sender): void {
    const answer = answerSchema.safeParse(decodeJson(message, MESSAGE_BYTES_MAX)).data;
    if (answer?.cluster !== cluster) return;
    const { cluster: _, ...said } = answer;
    const incarnation = sender && senderMarkOf(sender.incarnation);
    const by = incarnation ?? said.node;
    if (!answers.has(by) && answers.size >= PROCESSES_MAX) return;
    answers.set(by, { ...said, incarnation });
  }

  const subscription = bus.subscribe(presentSubject(prefix), hear);
  bus.publish(rollCallSubject(prefix), encodeJson({ cluster }));
  return {
    present: () => [...answers.values()].sort(byRoleAndName),
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}

function byRoleAndName(one: PresentProcess, other: PresentProcess): number {
  const order = CALLED_ROLES.indexOf(one.role) - CALLED_ROLES.indexOf(other.role);
  return order !== 0 ? order : one.node < other.node ? -1 : 1;
}
