import type { ServiceReport } from '#pages/cluster-answers';
import { counted } from '#pages/format';
import { type Arc, arcPath, arcsOf } from '#pages/ring-arcs';

/** Colours, each with a pattern of its own; more nodes than these begin again. */
const STYLES = 8;

/** Radii of the ring, and of the marks outside of it. */
const RING = { inner: 66, outer: 88 };
const MARKS = { inner: 91, outer: 97 };

/** The shards of a service on their ring, in the colours and patterns of their owners. */
export function ShardRing({
  name,
  service: { owners, nodes, shard_count, unserved_shards, moves },
  chosen,
}: {
  readonly name: string;
  readonly service: ServiceReport;
  readonly chosen: number | undefined;
}) {
  const label = `${counted(shard_count, 'shard')} of ${counted(nodes.length, name)}; the tables say whose`;
  const isDim = (owner: number | null) => chosen !== undefined && owner !== chosen;
  const path = (arc: Pick<Arc, 'from' | 'to'>, radii: typeof RING) =>
    arcPath(arc, shard_count, radii);
  return (
    <svg class="shard-ring" viewBox="0 0 200 200" role="img" aria-label={label}>
      <Patterns name={name} />
      {arcsOf(owners).map(({ from, to, owner }) => (
        <path
          key={from}
          d={path({ from, to }, RING)}
          fill={owner === null ? undefined : `url(#${name}-${owner % STYLES})`}
          class={`${owner === null ? 'arc-unowned' : ''} ${isDim(owner) ? 'is-dim' : ''}`}
        />
      ))}
      {moves.map(({ shard }) => (
        <path key={`m${shard}`} class="mark-move" d={path({ from: shard, to: shard }, MARKS)} />
      ))}
      {unserved_shards.map(({ shard }) => (
        <path key={`u${shard}`} class="mark-unserved" d={path({ from: shard, to: shard }, MARKS)} />
      ))}
      <text x="100" y="97" text-anchor="middle" class="ring-figure">
        {shard_count}
      </text>
      <text x="100" y="114" text-anchor="middle" class="ring-unit">
        {name} shards
      </text>
    </svg>
  );
}

/** The colour and pattern of a node, as the ring has it. */
export function Swatch({ name, place }: { readonly name: string; readonly place: number }) {
  return (
    <svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">
      <rect width="12" height="12" rx="2" fill={`url(#${name}-${place % STYLES})`} />
    </svg>
  );
}

/** The mark that a shard has outside of the ring. */
export function RingMark({ kind }: { readonly kind: 'unserved' | 'move' }) {
  return (
    <svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">
      <rect y="2" width="12" height="8" class={`mark-${kind}`} />
    </svg>
  );
}

/** What is drawn over the colour of each style, in a tile of 6 by 6; the first one is plain. */
const HATCHES = [
  '',
  'M0 6 6 0M-1 1 1-1M5 7 7 5',
  'M0 3h6',
  'M0 0 6 6M-1 5 1 7M5-1 7 1',
  'M3 0v6',
  'M0 3h6M3 0v6',
  'M0 6 6 0M0 0 6 6',
  'M2 3h2',
];

function Patterns({ name }: { readonly name: string }) {
  return (
    <defs>
      {HATCHES.map((hatch, style) => (
        <pattern
          key={hatch}
          id={`${name}-${style}`}
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
        >
          <rect width="6" height="6" class={`node-colour-${style}`} />
          {hatch === '' ? null : <path d={hatch} class="node-hatch" />}
        </pattern>
      ))}
    </defs>
  );
}
