import * as assert from 'uvu/assert';
import { type clusterInMemory, SHARDS } from '#test/ctl/cluster-fixture';
import { ctl } from '#test/ctl/ctl-run';
import { soon } from '#test/support/soon';

/** A cluster that ctl looks at. */
export type Cluster = Awaited<ReturnType<typeof clusterInMemory>>;

/** Longest wait for the cluster to come to what it should be, in milliseconds. */
const SETTLED_MS_MAX = 20_000;

/** The instance of these tests. */
export const ID = 'inst_00000000000000aa';

/** What commands say about a cluster. */
export function ctlOn({ ports: cluster }: Cluster) {
  /** What a command prints for people. */
  const text = async (...argv: string[]) => {
    const { code, out, err } = await ctl(argv, { cluster });
    assert.is(code, 0, err);
    return out;
  };
  return {
    text,
    /** What a command says to machines. */
    data: async (...argv: string[]) => JSON.parse(await text(...argv, '--json')),
    /** The one line with which a command is refused. */
    refusal: async (...argv: string[]) => {
      const { code, out, err } = await ctl(argv, { cluster });
      assert.is.not(code, 0, out);
      assert.match(err, /^ctl: [^\n]+$/);
      return err;
    },
  };
}

/** Until the engines serve this many shards each, by name. */
export async function serving(cluster: Cluster, shares: Record<string, number>): Promise<void> {
  await sharing(shares, (name) => cluster.node(name));
}

/** Until the limiters serve this many shards each, by name. */
export async function limiting(cluster: Cluster, shares: Record<string, number>): Promise<void> {
  await sharing(shares, (name) => cluster.limiter(name));
}

/** Until an engine has noticed that its journal is sealed. */
export async function fenced(cluster: Cluster, name: string): Promise<void> {
  await settled('the notice of its end', () => cluster.node(name).incarnation === undefined);
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

/** Drains the owner of the instance, which stores it; answers the node that it moves to. */
export async function storedByMoving(cluster: Cluster): Promise<string> {
  const { address } = await ctlOn(cluster).data('instance', ID);
  const [owner, other] = address === 'a:8100' ? ['a', 'b'] : ['b', 'a'];
  await ctlOn(cluster).data('drain', owner);
  await serving(cluster, { [owner]: 0, [other]: SHARDS });
  return other;
}
