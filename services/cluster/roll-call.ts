import { z } from 'zod';
import type { Bus, Sender } from '#bus/bus';
import { senderMarkOf } from '#bus/sender-key';
import type { Clock } from '#platform/clock';

/** The roles of processes that are no nodes: nobody needs to hear them, so they send no heartbeats. */
export const CALLED_ROLES = ['edge', 'console'] as const;

/** One of them. */
export type CalledRole = (typeof CALLED_ROLES)[number];

/** Where a cluster's processes speak. */
type Place = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** First part of all subjects. */
  readonly prefix: string;
  /** Id of the cluster; what comes from another one is not believed. */
  readonly cluster: string;
};

/** Bytes of a message that is read at all: the longest names, in UTF-8. */
const MESSAGE_BYTES_MAX = 4 * 1_024;

/** Characters of a name or an id; a host name has 253 at most. */
const TEXT_LENGTH_MAX = 300;

/** Processes whose answers are kept; the answers of further ones are not. */
const PROCESSES_MAX = 4_096;

/**
 * From a call to the answer, in milliseconds: calls of that time get one answer, so that nobody can
 * make processes speak more than five times a second; and servers of NATS learn from each other who
 * listens to it.
 */
const ANSWER_DELAY_MS = 200;

const text = z.string().min(1).max(TEXT_LENGTH_MAX);

// Fields that are not known are left out, so that a newer version may say more.
const callSchema = z.object({ cluster: text });

const answerSchema = z.object({
  cluster: text,
  role: z.enum(CALLED_ROLES),
  /** The name of the process in its log lines. */
  node: text,
  /** The release that it runs, for people. */
  release: text,
  /** Unix time at which it became ready. */
  startedAtMs: z.int().min(0).max(8_640_000_000_000_000),
});

/** What a process that is no node says of itself when it is asked. */
export type PresentProcess = Readonly<Omit<z.infer<typeof answerSchema>, 'cluster'>> & {
  /** Names one start of the process, in 16 characters; undefined where the bus does not vouch for senders. */
  readonly incarnation: string | undefined;
};

/** The subject on which somebody asks who is there. */
export function rollCallSubject(prefix: string): string {
  return `${prefix}.roll-call`;
}

/** The subject on which processes answer. */
export function presentSubject(prefix: string): string {
  return `${prefix}.present`;
}

/** Answers each call until disposed, within 200 ms and once for all calls of that time. */
export function answerRollCalls(
  { bus, clock, prefix, cluster }: Place,
  self: Omit<PresentProcess, 'incarnation'>,
): Disposable {
  const opened = new DisposableStack();
  let isAnswering = false;

  function answer(): void {
    isAnswering = false;
    if (opened.disposed) return;
    bus.publish(presentSubject(prefix), encode({ ...self, cluster }));
  }

  function hear(message: Uint8Array): void {
    if (isAnswering || decode(callSchema, message)?.cluster !== cluster) return;
    isAnswering = true;
    clock.after(ANSWER_DELAY_MS, answer);
  }

  opened.use(bus.subscribe(rollCallSubject(prefix), hear));
  return opened;
}

/** Asks who is there, and collects answers until disposed. */
export function callRoll({ bus, prefix, cluster }: Omit<Place, 'clock'>): Disposable & {
  /** Those that have answered, in the order of their roles and names. */
  readonly present: () => readonly PresentProcess[];
} {
  const answers = new Map<string, PresentProcess>();

  function hear(message: Uint8Array, sender?: Sender): void {
    const answer = decode(answerSchema, message);
    if (answer?.cluster !== cluster) return;
    const { cluster: _, ...said } = answer;
    const incarnation = sender && senderMarkOf(sender.incarnation);
    const by = incarnation ?? said.node;
    if (!answers.has(by) && answers.size >= PROCESSES_MAX) return;
    answers.set(by, { ...said, incarnation });
  }

  const subscription = bus.subscribe(presentSubject(prefix), hear);
  bus.publish(rollCallSubject(prefix), encode({ cluster }));
  return {
    present: () => [...answers.values()].sort(byRoleAndName),
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}

function byRoleAndName(one: PresentProcess, other: PresentProcess): number {
  const order = CALLED_ROLES.indexOf(one.role) - CALLED_ROLES.indexOf(other.role);
  return order !== 0 ? order : one.node < other.node ? -1 : 1;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** JSON, so that `nats sub` shows it. */
function encode(message: z.infer<typeof callSchema | typeof answerSchema>): Uint8Array {
  return encoder.encode(JSON.stringify(message));
}

/** Undefined when it is anything but what the schema says. Never throws. */
function decode<Schema extends z.ZodType>(
  schema: Schema,
  message: Uint8Array,
): z.infer<Schema> | undefined {
  if (message.length > MESSAGE_BYTES_MAX) return undefined;
  try {
    return schema.safeParse(JSON.parse(decoder.decode(message))).data;
  } catch {
    return undefined;
  }
}
