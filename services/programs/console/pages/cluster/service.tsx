import { useState } from 'preact/hooks';
import { durationText, nodeName, unservedCountOf } from '#pages/cluster/alerts';
import type { Move, ServiceReport } from '#pages/cluster/answers';
import { counted, numberText } from '#pages/parts/format';
import { NodeTable } from '#view/cluster/nodes';
import { RingMark, ShardRing, ShardTable } from '#view/cluster/shards';

/**
 * Maximum number of listed moves. Equals the number of moves that a node runs concurrently. The
 * shard table lists more moves.
 */
const MOVES_SHOWN_MAX = 8;

/** One service: its ring and moves, its nodes, and a table of all shards. */
export function ServicePart({
  name,
  service,
}: {
  readonly name: 'engine' | 'limiter';
  readonly service: ServiceReport;
}) {
  const [chosen, choose] = useState<number | undefined>();
  const { shard_count } = service;
  return (
    <>
      <div class="ring-row">
        <div>
          <ShardRing name={name} service={service} chosen={chosen} />
          <p class="ring-legend">
            <RingMark kind="unserved" /> not served <RingMark kind="move" /> moves or will move
          </p>
        </div>
        <div class="card">
          <h3>
            {numberText(shard_count - unservedCountOf(service))} of {counted(shard_count, 'shard')}{' '}
            served
          </h3>
          <MoveList service={service} />
        </div>
      </div>
      <NodeTable name={name} service={service} chosen={chosen} onChoose={choose} />
      <ShardTable name={name} service={service} />
    </>
  );
}

/** Shards that move or will move. */
function MoveList({ service }: { readonly service: ServiceReport }) {
  const { moves, move_count } = service;
  const shown = moves.slice(0, MOVES_SHOWN_MAX);
  if (move_count === 0) return <p class="quiet">No shard moves: the ring and the owners agree.</p>;
  return (
    <>
      <p class="quiet">
        {counted(move_count, 'shard')} {move_count === 1 ? 'moves' : 'move'} or will move, at most
        eight per node at a time
        {shown.length < move_count ? `; the table has the first ${shown.length}` : ''}.
      </p>
      <table class="rows is-plain is-tight">
        <thead>
          <tr>
            <th scope="col" class="is-number">
              Shard
            </th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((move) => (
            <MoveRow key={move.shard} move={move} nodes={service.nodes} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function MoveRow({
  move: { shard, kind, from, to, since_s },
  nodes,
}: {
  readonly move: Move;
  readonly nodes: ServiceReport['nodes'];
}) {
  const named = (place: number | null) => {
    const node = place === null ? undefined : nodes[place];
    return node === undefined ? 'not known' : nodeName(node);
  };
  return (
    <tr>
      <th scope="row" class="is-number">
        {shard}
      </th>
      <td data-label="From">{named(from)}</td>
      <td data-label="To">{named(to)}</td>
      <td data-label="Since">
        {durationText(since_s)}
        <span class="row-more">{kind === 'waits' ? 'waits for its turn' : 'opens'}</span>
      </td>
    </tr>
  );
}
