import type { SeededRandom } from '#test/simulation/seeded-random';
import { REFUSALS_OF_LIVE, type Refusal } from '#test/simulation/simulated/network';
import { REPLICAS } from '#test/simulation/stored/replicas';

/** A fault from outside a process, with a limited duration. Times in milliseconds. */
export type Disturbance =
  | { readonly kind: 'kill'; readonly node: number; readonly downMs: number }
  | { readonly kind: 'killEdge'; readonly edge: number; readonly downMs: number }
  | {
      readonly kind: 'pause';
      readonly node: number;
      readonly how: 'stop' | 'suspend';
      readonly forMs: number;
    }
  | { readonly kind: 'restart'; readonly node: number; readonly downMs: number }
  | { readonly kind: 'storeStall'; readonly forMs: number }
  | { readonly kind: 'replicaAway'; readonly replica: number; readonly forMs: number }
  | { readonly kind: 'storeCut'; readonly node: number; readonly forMs: number }
  | { readonly kind: 'busDown'; readonly forMs: number }
  | { readonly kind: 'busCut'; readonly node: number; readonly forMs: number }
  | { readonly kind: 'busDeaf'; readonly from: number; readonly to: number; readonly forMs: number }
  | { readonly kind: 'netCut'; readonly from: number; readonly to: number; readonly forMs: number }
  | { readonly kind: 'edgeCut'; readonly edge: number; readonly to: number; readonly forMs: number }
  | { readonly kind: 'edgeBusCut'; readonly edge: number; readonly forMs: number }
  /** No other node reaches the node, but edges and the store do. The node may also pause. */
  | {
      readonly kind: 'island';
      readonly node: number;
      readonly forMs: number;
      readonly napAfterMs: number;
      readonly napMs: number;
    }
  /** Other nodes' connections to the node fail, although it lives and answers edges. */
  | {
      readonly kind: 'refusal';
      readonly node: number;
      readonly how: Refusal;
      readonly forMs: number;
    }
  /** Other nodes seal the journal of a possibly healthy node, each after its own delay. */
  | { readonly kind: 'falseAlarm'; readonly node: number; readonly afterMs: readonly number[] }
  | { readonly kind: 'wallStep'; readonly node: number; readonly byMs: number };

/** Kind of a disturbance. */
export type DisturbanceKind = Disturbance['kind'];

/** All kinds. A run draws from a random subset; kinds listed twice are more frequent. */
export const DISTURBANCES: readonly DisturbanceKind[] = [
  'kill',
  'kill',
  'killEdge',
  'pause',
  'pause',
  'restart',
  'restart',
  'storeStall',
  'replicaAway',
  'storeCut',
  'busDown',
  'busCut',
  'busDeaf',
  'netCut',
  'edgeCut',
  'edgeBusCut',
  'island',
  'refusal',
  'falseAlarm',
  'wallStep',
];

/** Draws a disturbance of a kind, for a cluster with `nodes` nodes and `edges` edges. */
export function drawDisturbance(
  kind: DisturbanceKind,
  random: SeededRandom,
  nodes: number,
  edges: number,
): Disturbance {
  const node = random.whole(0, nodes - 1);
  const to = (node + random.whole(1, Math.max(1, nodes - 1))) % nodes;
  const edge = random.whole(0, edges - 1);
  const forMs = random.happens(0.5) ? random.between(50, 2_000) : random.between(2_000, 12_000);
  const longMs = random.happens(0.4) ? random.between(8_000, 20_000) : forMs;
  switch (kind) {
    case 'kill':
      return { kind, node, downMs: random.between(10, 4_000) };
    case 'restart':
      return { kind, node, downMs: random.between(10, 3_000) };
    case 'killEdge':
      return { kind, edge, downMs: random.between(10, 3_000) };
    case 'pause': {
      const how = random.happens(0.7) ? 'stop' : 'suspend';
      return { kind, node, how, forMs: longMs };
    }
    case 'storeStall':
      return { kind, forMs: random.happens(0.7) ? random.between(6_000, 10_000) : forMs };
    case 'replicaAway':
      return { kind, replica: random.whole(0, REPLICAS - 1), forMs: longMs };
    case 'storeCut':
    case 'busCut':
      return { kind, node, forMs: longMs };
    case 'island':
      return {
        kind,
        node,
        forMs: random.between(14_000, 25_000),
        napAfterMs: random.between(14_800, 16_000),
        napMs: random.happens(0.5) ? 0 : random.between(200, 1_900),
      };
    case 'edgeBusCut':
      return { kind, edge, forMs: random.between(2_000, 25_000) };
    case 'refusal':
      return { kind, node, how: random.pick(REFUSALS_OF_LIVE), forMs: longMs };
    case 'busDown':
      return { kind, forMs: random.between(500, 20_000) };
    case 'busDeaf':
    case 'netCut':
      return { kind, from: node, to, forMs };
    case 'edgeCut':
      return { kind, edge, to, forMs };
    case 'falseAlarm': {
      const sealers = random.whole(1, 3);
      const afterMs = Array.from({ length: sealers }, () => random.between(0, 40));
      return { kind, node, afterMs };
    }
    case 'wallStep':
      return { kind, node, byMs: random.between(-5_000, 5_000) };
  }
}
