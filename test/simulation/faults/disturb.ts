import type { Disturbance } from '#test/simulation/faults/disturbances';
import type { SimulatedCluster } from '#test/simulation/simulated/cluster';
import { addressOf } from '#test/simulation/simulated/node';

type Separation = Extract<
  Disturbance,
  { kind: 'busDown' | 'busCut' | 'busDeaf' | 'netCut' | 'edgeCut' | 'edgeBusCut' | 'island' }
>;

/** Applies a disturbance to a cluster, and reverts the disturbance after its duration. */
export function disturb(cluster: SimulatedCluster, what: Disturbance): void {
  const { world, store, replicas, nodes, edgeSlots } = cluster;
  world.note(`disturbance ${JSON.stringify(what)}`);
  const during = (forMs: number, set: (isOn: boolean) => void): void => {
    set(true);
    world.after(forMs, () => set(false));
  };
  switch (what.kind) {
    case 'kill':
      nodes[what.node]?.kill(what.downMs);
      break;
    case 'restart':
      nodes[what.node]?.restart(what.downMs);
      break;
    case 'killEdge':
      edgeSlots[what.edge]?.kill(what.downMs);
      break;
    case 'pause':
      nodes[what.node]?.pause(what.how, what.forMs);
      break;
    case 'wallStep':
      nodes[what.node]?.running?.process.stepWall(what.byMs);
      break;
    case 'storeStall':
      store.stall(what.forMs);
      break;
    case 'replicaAway':
      during(what.forMs, (isOn) => replicas.setAway(what.replica, isOn));
      break;
    case 'storeCut': {
      const name = nameOf(cluster, what.node);
      cluster.disturbed(name);
      during(what.forMs, (isOn) => store.setCut(name, isOn));
      break;
    }
    case 'refusal': {
      const { network } = cluster;
      const name = nameOf(cluster, what.node);
      during(what.forMs, (isOn) => network.setRefusing(name, isOn ? what.how : undefined));
      break;
    }
    case 'falseAlarm':
      sealBy(cluster, what);
      break;
    case 'island':
      during(what.forMs, (isOn) => separate(cluster, what, isOn));
      if (what.napMs > 0) {
        world.after(what.napAfterMs, () => nodes[what.node]?.pause('stop', what.napMs));
      }
      break;
    default:
      during(what.forMs, (isOn) => separate(cluster, what, isOn));
  }
}

/** Lets other nodes seal the journal of `node`: the nth node after `node` has the nth delay. */
function sealBy(
  cluster: SimulatedCluster,
  { node, afterMs }: Extract<Disturbance, { kind: 'falseAlarm' }>,
): void {
  const { world, nodes, journals, network } = cluster;
  const victim = nodes[node]?.running?.process;
  const incarnation = victim && network.listenerAt(addressOf(victim))?.incarnation();
  if (victim === undefined || incarnation === undefined) return;
  cluster.disturbed(victim.name);
  for (const [place, delayMs] of afterMs.entries()) {
    const sealer = nodes[(node + 1 + place) % nodes.length]?.running?.process;
    if (sealer === undefined) continue;
    const seal = () =>
      void journals
        .portOf(sealer)
        .seal(incarnation)
        .catch(() => undefined);
    world.after(delayMs, () => sealer.deliver(seal));
  }
}

function separate(cluster: SimulatedCluster, what: Separation, isOn: boolean): void {
  const { bus, network } = cluster;
  const node = (index: number): string => nameOf(cluster, index);
  const edge = (index: number): string => cluster.edgeSlots[index]?.name ?? '';
  switch (what.kind) {
    case 'busDown':
      bus.isDown = isOn;
      break;
    case 'busCut':
      bus.setCut(node(what.node), isOn);
      break;
    case 'busDeaf':
      bus.setDeaf(node(what.from), node(what.to), isOn);
      break;
    case 'netCut':
      network.setCut(node(what.from), node(what.to), isOn);
      break;
    case 'edgeCut':
      network.setCut(edge(what.edge), node(what.to), isOn);
      break;
    case 'edgeBusCut':
      bus.setCut(edge(what.edge), isOn);
      break;
    case 'island':
      cluster.disturbed(node(what.node));
      bus.setCut(node(what.node), isOn);
      for (const { name } of cluster.nodes) {
        if (name !== node(what.node)) network.setCut(name, node(what.node), isOn);
      }
  }
}

function nameOf({ nodes }: SimulatedCluster, index: number): string {
  return nodes[index]?.name ?? '';
}
