import { useState } from 'preact/hooks';
import { durationText, nodeName } from '#pages/cluster/alerts';
import type { NodeReport, ServiceReport } from '#pages/cluster/answers';
import { type Arc, arcPath, arcsOf } from '#pages/cluster/ring-arcs';
import { counted } from '#pages/parts/format';
import { unstoredText } from '#view/cluster/load';
import { TableHead } from '#view/parts/table-head';

/** Number of styles, each a color with a pattern. Further nodes reuse the styles. */
const STYLES = 8;

/** Radii of the ring, and of its outer marks. */
const RING = { inner: 66, outer: 88 };
const MARKS = { inner: 91, outer: 97 };

/** Ring of a service's shards. Each shard has the color and the pattern of its owner. */
export function ShardRing({
  name,
  service: { owners, nodes, shard_count, unserved_shards, moves },
  chosen,
}: {
  readonly name: string;
  readonly service: ServiceReport;
  readonly chosen: number | undefined;
}) {
  const label = `${counted(shard_count, 'shard')} of ${counted(nodes.length, name)}; the tables list the owners`;
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

/** Color and pattern of a node on the ring. */
export function Swatch({ name, place }: { readonly name: string; readonly place: number }) {
  return (
    <svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">
      <rect width="12" height="12" rx="2" fill={`url(#${name}-${place % STYLES})`} />
    </svg>
  );
}

/** Legend symbol of a mark outside the ring. */
export function RingMark({ kind }: { readonly kind: 'unserved' | 'move' }) {
  return (
    <svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">
      <rect y="2" width="12" height="8" class={`mark-${kind}`} />
    </svg>
  );
}

/** Pattern of each style, drawn in a 6 by 6 tile. The first style has no pattern. */
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

/**
 * Table of all shards, rendered only after a person opens the table. Adjacent shards of one owner
 * share a row.
 */
export function ShardTable({
  name,
  service,
}: {
  readonly name: string;
  readonly service: ServiceReport;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="shards" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>All {counted(service.shard_count, 'shard')} as a table</summary>
      {isOpen ? <Rows name={name} service={service} /> : null}
    </details>
  );
}

function Rows({ name, service }: { readonly name: string; readonly service: ServiceReport }) {
  const { owners, nodes, unserved_shards, moves } = service;
  const notes = new Map([
    ...moves.map(({ shard, to, since_s }) => [shard, moveNote(nodes, to, since_s)] as const),
    ...unserved_shards.map(
      ({ shard, state, since_s }) => [shard, `${state} for ${durationText(since_s)}`] as const,
    ),
  ]);
  // A shard with a note gets its own row.
  const rows = arcsOf(owners).flatMap((arc) => split(arc, notes));
  return (
    <table class="rows is-tight">
      <caption class="unseen">Shards of the {name}s</caption>
      <TableHead names={['Shards', 'Owner', 'Records not stored', 'State']} />
      <tbody>
        {rows.map(({ from, to, owner }) => (
          <Row
            key={from}
            {...{ name, from, to, owner }}
            node={owner === null ? undefined : nodes[owner]}
            note={notes.get(from)}
          />
        ))}
      </tbody>
    </table>
  );
}

function Row({
  name,
  from,
  to,
  owner,
  node,
  note,
}: Arc & {
  readonly name: string;
  readonly node: NodeReport | undefined;
  readonly note: string | undefined;
}) {
  return (
    <tr>
      <th scope="row">{from === to ? from : `${from}–${to}`}</th>
      <td data-label="Owner">
        {node === undefined || owner === null ? (
          'none'
        ) : (
          <>
            <Swatch name={name} place={owner} /> {nodeName(node)}
          </>
        )}
      </td>
      <td data-label="Not stored">
        {node !== undefined && 'value' in node.load ? unstoredText(node.load.value) : 'not known'}
      </td>
      <td data-label="State">{note ?? 'served'}</td>
    </tr>
  );
}

function moveNote(nodes: readonly NodeReport[], to: number | null, sinceS: number): string {
  const node = to === null ? undefined : nodes[to];
  return `goes to ${node === undefined ? 'another node' : nodeName(node)}, for ${durationText(sinceS)}`;
}

function split(arc: Arc, notes: ReadonlyMap<number, string>): Arc[] {
  const { owner } = arc;
  const parts: Arc[] = [];
  for (let shard = arc.from; shard <= arc.to; shard += 1) {
    const last = parts.at(-1);
    const isNoted = notes.has(shard) || notes.has(shard - 1);
    if (last === undefined || isNoted) parts.push({ from: shard, to: shard, owner });
    else parts[parts.length - 1] = { ...last, to: shard };
  }
  return parts;
}
