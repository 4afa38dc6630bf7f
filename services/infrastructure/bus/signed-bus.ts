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
import type { Clock } from '#stdlib/clock';
import { derivedFrom, type Reloadable } from '#stdlib/files';
import { LogRateLimit } from '#telemetry/log-limits';
import type { Logger } from '#telemetry/logger';

/** Reasons for dropping a received message. */
export const DROP_REASONS = [
  ...(['unsigned', 'version', 'signature', 'forged', 'repeated', 'stale', 'cluster'] as const),
] as const;

/** Reason for dropping a received message. */
export type DropReason = (typeof DROP_REASONS)[number];

/** Options of a signed bus. */
export type SignedBusOptions = {
  /** Transport of the envelopes. Disposed with the signed bus. */
  readonly bus: Bus;
  readonly clock: Clock;
  /** Cluster secrets. The first secret signs, all secrets verify. */
  readonly secrets: Reloadable<readonly string[]>;
  /**
   * Id of this process's cluster. Undefined if the process learns the id over the bus, or not at
   * all.
   */
  readonly cluster?: string | undefined;
  /** Receives each message of this process, as sent on the transport. */
  readonly onPublished?: ((subject: string, message: Uint8Array) => void) | undefined;
  readonly onDropped: (reason: DropReason) => void;
  /** Logs dropped messages, at most one line per reason in 30 s. */
  readonly logger: Logger;
  /**
   * Receives an error thrown by a listener, which is a bug. Other listeners still get the message.
   */
  readonly onBug: (error: unknown) => void;
};

/** A bus that signs and verifies. */
export type SignedBus = Bus & {
  /**
   * Delivers a message that did not arrive on the transport, as if it had. Silently ignores a
   * message that arrived before.
   */
  receivePulled(subject: string, message: Uint8Array): void;
};

/**
 * Maximum number of senders remembered; the sender unheard for longest is evicted first. Enough for
 * a fleet of 500 that restarts sixteen times. Only senders with a valid signature are remembered,
 * so outsiders cannot fill the table.
 */
const SENDERS_MAX = 8_192;

/**
 * Bus that signs every sent message and verifies every received message. This is the only module
 * that decides which publishers to trust. Each sender has its own key, and the key is the sender's
 * name. The cluster secret alone is therefore not sufficient to impersonate another process.
 * Source: decisions 135 and 179.
 */
export function signedBus(options: SignedBusOptions): SignedBus {
  const { bus, clock, secrets, cluster } = options;
  const keys = derivedFrom(secrets, keysOf);
  const sender = newSenderKey();
  const senders = new KnownSenders();
  const strangers = new KnownSenders();
  const drops = new Drops(options);
  const listeners = new Listeners(options, (subject, message) => receive(subject, message));
  let sequence = 0;

  function receive(subject: string, message: Uint8Array, isPulled = false): void {
    const opened = openMessage(keys.current.all, subject, message);
    const reason = dropReasonOf(subject, opened);
    if (isPulled && reason === 'repeated') return;
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

  /** A sender that does not know its cluster yet may belong to this cluster. */
  function isOfAnother({ cluster: senders }: Envelope): boolean {
    return cluster !== undefined && senders !== cluster && senders !== NO_CLUSTER;
  }

  /**
   * Reports the clock of a sender whose message is stale, once per sequence. The content is
   * dropped.
   */
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
      const message = sealMessage({ macKey, sender }, subject, said, content);
      options.onPublished?.(subject, message);
      bus.publish(subject, message);
    },
    receivePulled: (subject, message) => receive(subject, message, true),
    subscribe: (subject, hear, onStranger) => listeners.add(subject, { hear, onStranger }),
    async [Symbol.asyncDispose]() {
      listeners.clear();
      await bus[Symbol.asyncDispose]();
    },
  };
}

/** Signing key and verification keys of the secrets. */
function keysOf(secrets: readonly string[]) {
  const all = secrets.map(busKeyOf);
  const [first] = all;
  assert(first !== undefined, 'a signed bus needs at least one secret');
  return { first, all };
}

/** Callbacks of one subscription. */
type Subscriber = { readonly hear: Listener; readonly onStranger: OnStranger | undefined };

/** Local subscribers of a subject, and their shared subscription on the transport. */
type Subject = {
  readonly listeners: Set<Subscriber>;
  readonly subscription: Disposable;
};

/**
 * Subscribers of this process. A subject has a single subscription on the transport. With a second
 * subscription, the replay guard would drop every message as repeated.
 */
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
    // Subscriptions that a listener adds or disposes take effect within the same message.
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

/** Last sequence of every sender with a valid signature. */
class KnownSenders {
  /** In insertion order, which is the order of the last message. */
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

/** Log line for each reason. */
const NOTICES: Readonly<Record<DropReason, string>> = {
  unsigned:
    'dropped a message without a signature: the sender is not in this cluster, or has an older release',
  version:
    'dropped a message in the format of another release: the release of the sender cannot run beside this release',
  signature:
    'dropped a message signed with another secret: SERVICE_CLUSTER_SECRET differs, another cluster uses the same SERVICE_NATS_PREFIX, or the message is forged',
  forged:
    'dropped a message that its named sender did not sign: a process with SERVICE_CLUSTER_SECRET impersonates another process',
  repeated:
    'dropped a message that is not newer than the last of its sender: replayed, or delivered twice',
  stale: 'dropped a message of a new sender whose clock differs by more than 60 s',
  cluster:
    'ignored another cluster on the same NATS subjects: set another SERVICE_NATS_PREFIX for one of them',
};

/** Counts dropped messages, and logs them at a limited rate. */
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
