import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '#test/kubernetes/control-plane';

/** Tested fields of a pod. */
export type Pod = {
  readonly metadata: {
    readonly name: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly image: string }[];
  };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly podIP?: string;
    /** Absent on simulated nodes. */
    readonly containerStatuses?: readonly {
      readonly containerID?: string;
      readonly restartCount: number;
    }[];
  };
};

/** Timeout of controllers, in ms. */
const WAIT_MS_MAX = 60_000;
const POLL_EVERY_MS = 250;

/** Operations on a cluster's objects. */
export class KubernetesObjects {
  readonly #plane: ControlPlane;

  constructor(plane: ControlPlane) {
    this.#plane = plane;
  }

  /** Runs kubectl and returns its output; throws kubectl's error. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const { isOk, out, err } = await this.#plane.kubectl(args, input);
    if (!isOk) throw new Error(`kubectl ${args.join(' ')}: ${err}`);
    return out;
  }

  /** Runs `kubectl apply` with these options; throws if the server refuses. */
  async applied(args: readonly string[]): Promise<string> {
    return await this.kubectl(['apply', ...args]);
  }

  /** Applies manifests with strict field validation. Returns the warnings. */
  async apply(manifests: string): Promise<string> {
    const args = ['apply', '--validate=strict', '--filename', '-'];
    const { isOk, err } = await this.#plane.kubectl(args, manifests);
    if (!isOk) throw new Error(err);
    return err;
  }

  /** Adds a simulated node. */
  async addNode(number: number, zone: string): Promise<void> {
    const name = `node-${number}`;
    const size = { cpu: '64', memory: '512Gi', pods: '110' };
    const labels = {
      'kubernetes.io/hostname': name,
      'topology.kubernetes.io/zone': `zone-${zone}`,
    };
    const metadata = { name, labels };
    const status = { allocatable: size, capacity: size };
    await this.kubectl(
      ['create', '--filename', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata, status }),
    );
  }

  /** Adds a volume for the local overlay's claim. */
  async addVolume(): Promise<void> {
    const spec = {
      capacity: { storage: '5Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/nowhere' },
    };
    const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'one' }, spec };
    await this.kubectl(['create', '--filename', '-'], JSON.stringify(volume));
  }

  /** Pods of a component that are not terminating. */
  async pods(namespace: string, component: string): Promise<readonly Pod[]> {
    const selector = `app.kubernetes.io/component=${component}`;
    const args = ['-n', namespace, 'get', 'pods', '--selector', selector, '--output', 'json'];
    const { items } = JSON.parse(await this.kubectl(args)) as { items: readonly Pod[] };
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Sets a pod's readiness, as a kubelet does. */
  async setReady(namespace: string, name: string, status: 'True' | 'False'): Promise<void> {
    const patch = JSON.stringify({ status: { conditions: [{ type: 'Ready', status }] } });
    const what = ['patch', 'pod', name, '--subresource=status', '--patch', patch];
    await this.kubectl(['-n', namespace, ...what]);
  }

  /** Polls until the condition is met. Throws after `msMax`. */
  async until(what: string, isMet: () => Promise<boolean>, msMax = WAIT_MS_MAX): Promise<void> {
    const endMs = performance.now() + msMax;
    while (!(await isMet())) {
      if (performance.now() > endMs) throw new Error(`timeout while waiting for ${what}`);
      await sleep(POLL_EVERY_MS);
    }
  }
}
