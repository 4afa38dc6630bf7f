import { nodeName, troubleFirst } from '#pages/cluster/alerts';
import type { Known, LoadReport, NodeReport, ServiceReport } from '#pages/cluster/answers';
import { counted, numberText } from '#pages/parts/format';
import { bytesText, rateText, unstoredText } from '#view/cluster/load';
import { Swatch } from '#view/cluster/shards';
import { TimeText } from '#view/parts/text';

const BADGES: Readonly<Record<NodeReport['state'], string>> = {
  serving: 'is-good',
  leaving: 'is-warning',
  'wrong clock': 'is-critical',
  sealed: 'is-critical',
  'not heard': 'is-critical',
};

/**
 * Table of a service's nodes, nodes with problems first. A selected node is highlighted on the
 * ring.
 */
export function NodeTable({
  name,
  service: { nodes },
  chosen,
  onChoose,
}: {
  readonly name: 'engine' | 'limiter';
  readonly service: ServiceReport;
  readonly chosen: number | undefined;
  readonly onChoose: (place: number | undefined) => void;
}) {
  return (
    <table class="rows">
      <caption class="unseen">{name === 'engine' ? 'Engines' : 'Limiters'}, trouble first</caption>
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col">State</th>
          <th scope="col">Shards</th>
          <th scope="col">Journal</th>
          <th scope="col">In memory</th>
          <th scope="col" class="is-number">
            Calls
          </th>
          <th scope="col">Since</th>
        </tr>
      </thead>
      <tbody>
        {troubleFirst(nodes).map((place) => {
          const node = nodes[place];
          return node === undefined ? null : (
            <NodeRow
              key={node.incarnation}
              {...{ name, node, place }}
              isChosen={chosen === place}
              onChoose={() => onChoose(chosen === place ? undefined : place)}
            />
          );
        })}
      </tbody>
    </table>
  );
}

function NodeRow({
  name,
  node,
  place,
  isChosen,
  onChoose,
}: {
  readonly name: string;
  readonly node: NodeReport;
  readonly place: number;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}) {
  return (
    <tr>
      <th scope="row">
        <button type="button" class="node-button" aria-pressed={isChosen} onClick={onChoose}>
          <Swatch name={name} place={place} />
          {nodeName(node)}
        </button>
        <span class="row-more">{node.address ?? 'address not known'}</span>
      </th>
      <td data-label="State">
        <span class={`badge ${BADGES[node.state]}`}>{node.state}</span>
        {node.agrees === false ? <span class="row-more">sees other nodes</span> : null}
      </td>
      <td data-label="Shards">
        {counted(node.owns, 'shard')}
        <span class="row-more">
          due {numberText(node.due)}
          {node.serves === null ? '' : `, serves ${numberText(node.serves)}`}
        </span>
      </td>
      <td data-label="Journal">
        <JournalCell node={node} />
      </td>
      <LoadCells load={node.load} unit={name === 'limiter' ? 'meter' : 'actor'} />
      <td data-label="Since">
        {node.since === null ? 'not known' : <TimeText at={node.since} />}
        <span class="row-more">{node.release === null ? '' : `release ${node.release}`}</span>
      </td>
    </tr>
  );
}

function JournalCell({ node: { journal, load } }: { readonly node: NodeReport }) {
  const slots =
    'value' in journal
      ? `${counted(journal.value.slots, 'slot')} to replay`
      : `not known: ${journal.not_known}`;
  return (
    <>
      {'value' in load ? `not stored: ${unstoredText(load.value)}` : 'not stored: not known'}
      <span class="row-more">{slots}</span>
    </>
  );
}

function LoadCells({ load, unit }: { readonly load: Known<LoadReport>; readonly unit: string }) {
  if ('not_known' in load) {
    return (
      <>
        <td data-label="In memory">
          not known
          <span class="row-more">{load.not_known}</span>
        </td>
        <td data-label="Calls" class="is-number">
          not known
        </td>
      </>
    );
  }
  const { actors, actor_bytes, calls_per_s } = load.value;
  return (
    <>
      <td data-label="In memory">
        {counted(actors, unit)}
        <span class="row-more">{bytesText(actor_bytes)}</span>
      </td>
      <td data-label="Calls" class="is-number">
        {rateText(calls_per_s)}
      </td>
    </>
  );
}
