import * as assert from 'uvu/assert';
import { type clusterInMemory, SHARDS } from '#test/ctl/cluster-fixture';
import { ctl } from '#test/ctl/ctl-run';
import { soon } from '#test/support/soon';

/** A cluster for `ctl`. */
export type Cluster = Awaited<ReturnType<typeof clusterInMemory>>;

/** Maximum wait for the cluster to reach a state, in milliseconds. */
const SETTLED_MS_MAX = 20_000;

/** Id of the instance in these tests. */
export const ID = 'inst_00000000000000aa';

/** Outputs of `ctl` commands on a cluster. */
export function ctlOn({ ports: cluster }: Cluster) {
  /** Text output. */
  const text = async (...argv: string[]) => {
    const { code, out, err } = await ctl(argv, { cluster });
    assert.is(code, 0, err);
    return out;
  };
  return {
    text,
    /** JSON output. */
    data: async (...argv: string[]) => JSON.parse(await text(...argv, '--json')),
    /** The one-line error of a refused command. */
    refusal: async (...argv: string[]) => {
      const { code, out, err } = await ctl(argv, { cluster });
      assert.is.not(code, 0, out);
      assert.match(err, /^ctl: [^\n]+$/);
      return err;
    },
  };
}

/** Waits until each named engine serves its number of shards. */
export async function serving(cluster: Cluster, shares: Record<string, number>): Promise<void> {
  await sharing(shares, (name) => cluster.node(name));
}

/** Waits until each named limiter serves its number of shards. */
export async function limiting(cluster: Cluster, shares: Record<string, number>): Promise<void> {
  await sharing(shares, (name) => cluster.limiter(name));
}

/** Waits until an engine has detected that its journal is sealed. */
export async function fenced(cluster: Cluster, name: string): Promise<void> {
  await settled('the end of the incarnation', () => cluster.node(name).incarnation === undefined);
}

type Serving = { readonly incarnation: { readonly shards: { readonly size: number } } | undefined };

async function sharing(
  shares: Record<string, number>,
  nodeAt: (name: string) => Serving,
): Promise<void> {
  const isShared = ([name, share]: [string, number]) =>
    nodeAt(name).incarnation?.shards.size === share;
  const are = () => Object.entries(shares).every(isShared);
  await settled('every shard at its place', are);
}

const settled = (what: string, isSo: () => boolean) =>
  soon(what, isSo, { withinMs: SETTLED_MS_MAX, everyMs: 50 });

/** Drains the owner, so that the instance is stored. Returns the new owner. */
export async function storedByMoving(cluster: Cluster): Promise<string> {
  const { address } = await ctlOn(cluster).data('instance', ID);
  const [owner, other] = address === 'a:8100' ? ['a', 'b'] : ['b', 'a'];
  await ctlOn(cluster).data('drain', owner);
  await serving(cluster, { [owner]: 0, [other]: SHARDS });
  return other;
}
