import fc from 'fast-check';

/** Events of a meter, its journal, its callers and its node. */
export type Event =
  | {
      readonly kind: 'call';
      readonly cycles: number;
      readonly uses: number;
      /** Index into `KEYS`; absent: the first key. */
      readonly key?: number;
    }
  | { readonly kind: 'read' }
  | { readonly kind: 'settle'; readonly which: number }
  | { readonly kind: 'forget'; readonly which: number }
  | { readonly kind: 'unknown'; readonly which: number }
  | { readonly kind: 'durable' }
  | { readonly kind: 'crash'; readonly appended: number }
  | { readonly kind: 'zombie'; readonly calls: number }
  | { readonly kind: 'handoff' }
  /** Makes the disk read-only, or writable again. */
  | { readonly kind: 'disk'; readonly isWritable: boolean }
  | { readonly kind: 'wait'; readonly ms: number };

const which = fc.nat(20);
const calls: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('call'),
  cycles: fc.nat(8),
  uses: fc.nat(8),
  key: fc.nat(2),
} as const);
const settlements: fc.Arbitrary<Event> = fc.record({ kind: fc.constant('settle'), which } as const);
const durables: fc.Arbitrary<Event> = fc.constant({ kind: 'durable' } as const);
const waits: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('wait'),
  ms: fc.oneof({ weight: 6, arbitrary: fc.nat(300) }, fc.nat(70_000)),
} as const);
const crashes: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('crash'),
  appended: fc.nat(3),
} as const);
const handoffs: fc.Arbitrary<Event> = fc.constant({ kind: 'handoff' } as const);
const reads: fc.Arbitrary<Event> = fc.constant({ kind: 'read' } as const);
const disks: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('disk'),
  isWritable: fc.boolean(),
} as const);

/** Histories without failures, but with delays. */
export const quietHistories = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: calls },
    { weight: 10, arbitrary: settlements },
    { weight: 6, arbitrary: durables },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.nat(300) } as const) },
    { weight: 1, arbitrary: handoffs },
  ),
  { maxLength: 200, size: 'max' },
);

/**
 * Histories with crashes, zombies, lost settlements and appends, unknown outcomes and disk
 * failures.
 */
export const wildHistories: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    { weight: 16, arbitrary: calls },
    { weight: 2, arbitrary: reads },
    { weight: 1, arbitrary: disks },
    { weight: 10, arbitrary: settlements },
    { weight: 6, arbitrary: durables },
    { weight: 3, arbitrary: waits },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget'), which } as const) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('unknown'), which } as const) },
    { weight: 1, arbitrary: handoffs },
    { weight: 2, arbitrary: crashes },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('zombie'), calls: fc.nat(30) } as const),
    },
  ),
  { maxLength: 250, size: 'max' },
);

/** Histories of read calls with disk failures, crashes and handoffs. */
export const readingHistories: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    { weight: 24, arbitrary: reads },
    { weight: 2, arbitrary: calls },
    { weight: 6, arbitrary: durables },
    { weight: 3, arbitrary: disks },
    { weight: 1, arbitrary: waits },
    { weight: 1, arbitrary: handoffs },
    { weight: 1, arbitrary: crashes },
  ),
  { maxLength: 250, size: 'max' },
);
