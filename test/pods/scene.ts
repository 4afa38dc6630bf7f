import type { Print } from '#deploy/local/progress';
import type { Disturbance } from '#test/chaos/timeline';
import type { KubernetesObjects, Pod } from '#test/kubernetes/kubernetes-objects';
import type { PodCluster } from '#test/pods/cluster';
import { NAMESPACE } from '#test/pods/installation';
import type { PodNode } from '#test/pods/node';
import { STORES_NAMESPACE } from '#test/pods/stores';

/** Components of the service that a fault may stop. */
export type Component = 'edge' | 'engine' | 'limiter' | 'courier' | 'console';

/** Maximum wait until all pods of a component are ready again, in ms. */
const READY_MS_MAX = 300_000;

/** The installed service under faults, with a record of all faults and their times. */
export class PodScene {
  readonly cluster: PodCluster;
  readonly disturbances: Disturbance[] = [];
  readonly print: Print;
  #fault = '';

  constructor(cluster: PodCluster, print: Print) {
    this.cluster = cluster;
    this.print = print;
  }

  get objects(): KubernetesObjects {
    return this.cluster.objects;
  }

  /** Name of the current fault, recorded with its disturbances. */
  set fault(name: string) {
    this.#fault = name;
  }

  /** Runs kubectl in the namespace of the service. */
  kubectl(...args: readonly string[]): Promise<string> {
    return this.objects.kubectl(['--namespace', NAMESPACE, ...args]);
  }

  /** Runs one step of a fault and records its start and end. */
  async disturb<Result>(text: string, action: () => Promise<Result>): Promise<Result> {
    const fromMs = performance.now();
    const times = { fromMs, toMs: fromMs, servedAfterMs: undefined };
    const disturbance: Disturbance = { fault: this.#fault, text, ...times };
    this.disturbances.push(disturbance);
    this.print(`  ${text}`);
    try {
      return await action();
    } finally {
      disturbance.toMs = performance.now();
    }
  }

  /** A pod of a component, by its place in the list of names. */
  async pod(component: Component, place = 0): Promise<Pod> {
    const pods = await this.objects.pods(NAMESPACE, component);
    const pod = pods.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[place];
    if (pod === undefined) throw new Error(`there is no ${component} ${place}`);
    return pod;
  }

  /** Pids of the processes in a pod's container, first its main process. */
  async pidsOf(pod: Pod): Promise<readonly number[]> {
    const id = pod.status.containerStatuses?.[0]?.containerID?.replace('containerd://', '') ?? '';
    const pids = await this.nodeOf(pod).pidsOf(id);
    if (pids.length === 0) throw new Error(`${pod.metadata.name} has no process`);
    return pids;
  }

  /** Node on which a pod runs. */
  nodeOf({ spec, metadata }: Pod): PodNode {
    const node = this.cluster.nodes.find(({ place }) => place.name === spec.nodeName);
    if (node === undefined) throw new Error(`${metadata.name} is not scheduled`);
    return node;
  }

  /** A pod of a component on a node without Cassandra and without the balancer. */
  async podAwayFromStores(component: Component): Promise<Pod> {
    const taken = new Set(await this.#nodesOfOthers());
    const pods = await this.objects.pods(NAMESPACE, component);
    const pod = pods.find(({ spec }) => !taken.has(spec.nodeName ?? ''));
    if (pod === undefined) throw new Error(`every ${component} shares a node with others`);
    return pod;
  }

  /** Nodes of Cassandra and of the balancer, of which there is only one. */
  async #nodesOfOthers(): Promise<readonly string[]> {
    const nodes = ['-n', STORES_NAMESPACE, 'get', 'pod/cassandra-0'];
    const cassandra = await this.objects.kubectl([...nodes, '--output=jsonpath={.spec.nodeName}']);
    const balancers = ['-n', 'ingress', 'get', 'pods', '--selector=app=balancer'];
    const output = '--output=jsonpath={.items[*].spec.nodeName}';
    const balancer = await this.objects.kubectl([...balancers, output]);
    return [cassandra, ...balancer.split(' ')];
  }

  /** Waits until the kubelet has started the container of a pod again. */
  async restarted(pod: Pod): Promise<void> {
    const before = pod.status.containerStatuses?.[0]?.restartCount ?? 0;
    const isRestarted = async () => (await this.restartsOf(pod)) > before;
    await this.objects.until(`${pod.metadata.name} to start again`, isRestarted, READY_MS_MAX);
  }

  /** Number of restarts of a pod's container until now. */
  async restartsOf({ metadata }: Pod): Promise<number> {
    const output = '--output=jsonpath={.status.containerStatuses[0].restartCount}';
    return Number(await this.kubectl('get', 'pod', metadata.name, output));
  }

  /** Waits until `count` pods of a component are ready, and no pod is terminating. */
  async ready(component: Component, count: number): Promise<void> {
    const selector = `app.kubernetes.io/component=${component}`;
    const areReady = async () => {
      const text = await this.kubectl('get', 'pods', '--selector', selector, '--output', 'json');
      const { items } = JSON.parse(text) as { readonly items: readonly Pod[] };
      return items.length === count && items.every(isReady);
    };
    await this.objects.until(`${count} ready pods of ${component}`, areReady, READY_MS_MAX);
  }
}

function isReady({ status, metadata }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return (
    status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true
  );
}
