import { strict as assert } from 'node:assert';
import type { Bus, Listener, OnStranger, Sender } from '#bus/bus';
import {
  busKeyOf,
  type Envelope,
  NO_CLUSTER,
  type Opened,
  openMessage,
  sealMessage,
} from '#bus/envelope';
import { judgeReplay } from '#bus/replay-guard';
import { newSenderKey } from '#bus/sender-key';
import type { Clock } from '#platform/clock';
import { derivedFrom, type Reloadable } from '#platform/files';
import { LogRateLimit } from '#platform/log-limits';
import type { Logger } from '#platform/logger';

/** Why a message that was heard goes no further. */
export const DROP_REASONS = [
  ...(['unsigned', 'version', 'signature', 'forged', 'repeated', 'stale', 'cluster'] as const),
] as const;

/** One of them. */
export type DropReason = (typeof DROP_REASONS)[number];

/** What a signed bus takes. */
export type SignedBusOptions = {
  /** Carries the envelopes; disposed with the signed bus. */
  readonly bus: Bus;
  readonly clock: Clock;
  /** The first signs, all are believed. */
  readonly secrets: Reloadable<readonly string[]>;
  /** Id of this process's cluster; undefined where it is learned over the bus, or not at all. */
  readonly cluster?: string | undefined;
  readonly onDropped: (reason: DropReason) => void;
  /** One line for the log, at most one for each reason in 30 s. */
  readonly logger: Logger;
  /** Receives what a listener threw, a bug. The other listeners hear the message all the same. */
  readonly onBug: (error: unknown) => void;
};

/**
 * Senders that are remembered, the one unheard for longest forgotten first: a fleet of 500 that
 * restarts sixteen times. Only whose signature is right is remembered, so no stranger fills it.
 */
const SENDERS_MAX = 8_192;

/**
 * A bus on which everything is signed and everything heard is verified: the one place that decides
 * whom of those who can publish a process listens to. Each sender has a key of its own and is named
 * by it, so that knowing the secret is not enough to speak as another. Source: decisions 135 and 179.
 */
export function signedBus(options: SignedBusOptions): Bus {
  const { bus, clock, secrets, cluster } = options;
  const keys = derivedFrom(secrets, keysOf);
  const sender = newSenderKey();
  const senders = new KnownSenders();
  const strangers = new KnownSenders();
  const drops = new Drops(options);
  const listeners = new Listeners(options, receive);
  let sequence = 0;

  function receive(subject: string, message: Uint8Array): void {
    const opened = openMessage(keys.current.all, subject, message);
    const reason = dropReasonOf(subject, opened);
    const envelope = opened.kind === 'signed' ? opened.envelope : undefined;
    if (reason !== undefined) drops.add(reason, subject, envelope);
    else if (opened.kind === 'signed') listeners.deliver(subject, opened.content, opened.envelope);
  }

  function dropReasonOf(subject: string, opened: Opened): DropReason | undefined {
    if (opened.kind !== 'signed') return opened.kind;
    const { envelope } = opened;
    const lastSequence = senders.lastSequenceOf(envelope.incarnation);
    const verdict = judgeReplay({ ...envelope, lastSequence }, clock.wallMs());
    if (verdict === 'stale') return reportStranger(subject, envelope);
    if (verdict !== 'new') return verdict;
    senders.note(envelope);
    return isOfAnother(envelope) ? 'cluster' : undefined;
  }

  /** Who does not know its cluster yet may be of ours: what it says names the cluster. */
  function isOfAnother({ cluster: senders }: Envelope): boolean {
    return cluster !== undefined && senders !== cluster && senders !== NO_CLUSTER;
  }

  /** A stranger is believed nothing but what its clock shows, and a recording of it once. */
  function reportStranger(subject: string, envelope: Envelope): DropReason {
    const lastSequence = strangers.lastSequenceOf(envelope.incarnation);
    if (lastSequence !== undefined && envelope.sequence <= lastSequence) return 'repeated';
    strangers.note(envelope);
    if (cluster === undefined || envelope.cluster === cluster) {
      listeners.reportStranger(subject, envelope);
    }
    return 'stale';
  }

  return {
    incarnation: sender.name,
    get isConnected() {
      return bus.isConnected;
    },
    publish(subject, content) {
      sequence += 1;
      const sentAtMs = Math.round(clock.wallMs());
      const macKey = keys.current.first;
      const said = { cluster: cluster ?? NO_CLUSTER, sequence, sentAtMs };
      bus.publish(subject, sealMessage({ macKey, sender }, subject, said, content));
    },
    subscribe: (subject, hear, onStranger) => listeners.add(subject, { hear, onStranger }),
    async [Symbol.asyncDispose]() {
      listeners.clear();
      await bus[Symbol.asyncDispose]();
    },
  };
}

/** Of secrets, those that sign, and that verify. */
function keysOf(secrets: readonly string[]) {
  const all = secrets.map(busKeyOf);
  const [first] = all;
  assert(first !== undefined, 'a signed bus needs a secret');
  return { first, all };
}

/** What one subscription asked for. */
type Subscriber = { readonly hear: Listener; readonly onStranger: OnStranger | undefined };

/** Those who listen to a subject here, and the one subscription that they share. */
type Subject = {
  readonly listeners: Set<Subscriber>;
  readonly subscription: Disposable;
};

/** The listeners of this process. A subject has one subscription: two would hear repetitions. */
class Listeners {
  readonly #options: SignedBusOptions;
  readonly #receive: (subject: string, message: Uint8Array) => void;
  readonly #subjects = new Map<string, Subject>();

  constructor(options: SignedBusOptions, receive: (subject: string, message: Uint8Array) => void) {
    this.#options = options;
    this.#receive = receive;
  }

  add(subject: string, subscriber: Subscriber): Disposable {
    const heard = this.#subjects.get(subject) ?? this.#open(subject);
    const listener = { ...subscriber };
    heard.listeners.add(listener);
    return {
      [Symbol.dispose]: () => {
        heard.listeners.delete(listener);
        if (heard.listeners.size > 0 || this.#subjects.get(subject) !== heard) return;
        this.#subjects.delete(subject);
        heard.subscription[Symbol.dispose]();
      },
    };
  }

  deliver(subject: string, content: Uint8Array, sender: Sender): void {
    this.#each(subject, ({ hear }) => hear(content, sender));
  }

  reportStranger(subject: string, sender: Sender): void {
    this.#each(subject, ({ onStranger }) => onStranger?.(sender));
  }

  clear(): void {
    this.#subjects.clear();
  }

  #each(subject: string, deliver: (subscriber: Subscriber) => void): void {
    // What a listener disposes or adds on the way counts for the rest of the message.
    for (const subscriber of this.#subjects.get(subject)?.listeners ?? []) {
      try {
        deliver(subscriber);
      } catch (error) {
        this.#options.onBug(error);
      }
    }
  }

  #open(subject: string): Subject {
    const hear = (message: Uint8Array): void => this.#receive(subject, message);
    const subscription = this.#options.bus.subscribe(subject, hear);
    const opened = { listeners: new Set<Subscriber>(), subscription };
    this.#subjects.set(subject, opened);
    return opened;
  }
}

/** The last sequence of every sender whose signature was right. */
class KnownSenders {
  /** In the order in which they were last heard. */
  readonly #sequences = new Map<string, number>();

  lastSequenceOf(incarnation: string): number | undefined {
    return this.#sequences.get(incarnation);
  }

  note({ incarnation, sequence }: Envelope): void {
    this.#sequences.delete(incarnation);
    this.#sequences.set(incarnation, sequence);
    const [longestUnheard] = this.#sequences.keys();
    if (this.#sequences.size <= SENDERS_MAX || longestUnheard === undefined) return;
    this.#sequences.delete(longestUnheard);
  }
}

/** What an operator reads of a message that was dropped. */
const NOTICES: Readonly<Record<DropReason, string>> = {
  unsigned:
    'dropped a message without a signature: its sender is no process of this cluster, or an older one',
  version:
    'dropped a message in the form of another release: its sender is too new or too old to be in one cluster with this process',
  signature:
    'dropped a message signed with another secret: SERVICE_CLUSTER_SECRET differs, another cluster has our SERVICE_NATS_PREFIX, or it is forged',
  forged:
    'dropped a message that its named sender did not sign: a process that knows SERVICE_CLUSTER_SECRET pretends to be another',
  repeated:
    'dropped a message that is not newer than the last of its sender: recorded and played again, or delivered twice',
  stale:
    'dropped a message of a sender that was not heard before and whose clock is more than 60 s off ours',
  cluster:
    'another cluster speaks under our subjects and is ignored: give one of them another SERVICE_NATS_PREFIX',
};

/** What was dropped: each counted, and reported once in a while. */
class Drops {
  readonly #options: SignedBusOptions;
  readonly #notices = new Map<DropReason, LogRateLimit>();

  constructor(options: SignedBusOptions) {
    this.#options = options;
  }

  add(reason: DropReason, subject: string, envelope: Envelope | undefined): void {
    const { clock, onDropped, logger } = this.#options;
    onDropped(reason);
    let notices = this.#notices.get(reason);
    if (notices === undefined) {
      notices = new LogRateLimit(clock);
      this.#notices.set(reason, notices);
    }
    const { incarnation: sender, cluster } = envelope ?? {};
    notices.run((suppressed) =>
      logger.warn({ subject, reason, sender, cluster, suppressed }, NOTICES[reason]),
    );
  }
}
