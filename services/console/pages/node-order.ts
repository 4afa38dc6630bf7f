import { nodeName } from '#pages/cluster-alerts';
import type { NodeReport } from '#pages/cluster-answers';

/** The places of nodes, those in trouble first, then by name. */
export function troubleFirst(nodes: readonly NodeReport[]): readonly number[] {
  return nodes
    .map((node, place) => ({ place, rank: rankOf(node), name: nodeName(node) }))
    .sort((one, other) => one.rank - other.rank || (one.name < other.name ? -1 : 1))
    .map(({ place }) => place);
}

function rankOf({ state, agrees, load }: NodeReport): number {
  if (state === 'not heard' || state === 'sealed') return 0;
  if (state === 'wrong clock') return 1;
  if (state === 'leaving') return 2;
  if (agrees === false) return 3;
  return 'not_known' in load ? 4 : 5;
}
