import { useState } from 'preact/hooks';
import { durationText, nodeName } from '#pages/cluster-alerts';
import type { NodeReport, ServiceReport } from '#pages/cluster-answers';
import { counted } from '#pages/format';
import { type Arc, arcsOf } from '#pages/ring-arcs';
import { unstoredText } from '#view/cluster-load';
import { Swatch } from '#view/shard-ring';

/** The ring as a table, made when it is opened: neighbours of one owner are one row. */
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
  // A row says one thing: a shard with a note of its own has one of its own.
  const rows = arcsOf(owners).flatMap((arc) => split(arc, notes));
  return (
    <table class="rows is-tight">
      <caption class="unseen">Shards of the {name}s</caption>
      <thead>
        <tr>
          <th scope="col">Shards</th>
          <th scope="col">Owner</th>
          <th scope="col">Its journal, not stored</th>
          <th scope="col">State</th>
        </tr>
      </thead>
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
