import { FailureWatch } from '#cluster/failure-watch';
import type { Membership } from '#cluster/membership';
import { type MoveReason, ShardController } from '#cluster/shard-controller';
import type { ShardClaim, ShardHost } from '#cluster/shard-host';
import { assignShards } from '#cluster/shard-owners';
import { NO_INCARNATION } from '#grpc/admin';
import type { ShardChange, ShardRow, ShardStore } from '#storage/ports/cluster';
import { ClusterWorld, silence } from '#test/cluster/membership/cluster-fixture';
import { memoryShardStore } from '#test/storage/memory/shard-store';
import { pass } from '#test/support/passing';

/** Number of shards in a scene. */
export const SHARDS = 12;

/** Start-up grace period of the node in a scene, in milliseconds. */
export const STARTUP_GRACE_MS = 2_000;

/** Every shard of a scene. */
const ALL: readonly number[] = Array.from({ length: SHARDS }, (_, shard) => shard);

/** Shards that the ring assigns to `node` among these nodes. */
export function shardsOf(node: string, nodes: readonly string[]): number[] {
  const ring = assignShards(nodes, SHARDS);
  return ALL.filter((shard) => ring[shard] === node);
}

/** A host that records the calls it receives. */
class NotingHost implements ShardHost {
  readonly open = new Map<number, number>();
  readonly steps: string[] = [];
  readonly recovered = new Set<string>();
  recoveryEnds: Promise<void> = Promise.resolve();
  isStoreDown = false;
  /** Fulfils when the actors of a closing shard are stored. */
  closeEnds: (shard: number) => Promise<void> = () => Promise.resolve();
  isCloseBroken = false;
  /** Shards whose last actors are stored. */
  readonly closedLast: number[] = [];

  isRecovered({ shard, epoch }: ShardClaim): boolean {
    return this.recovered.has(`${shard}@${epoch}`);
  }

  async recoverTail(incarnation: string, claims: readonly ShardClaim[]): Promise<void> {
    this.steps.push(
      `recoverTail ${incarnation} ${claims.map(({ shard, epoch }) => `${shard}@${epoch}`)}`,
    );
    if (this.isStoreDown) silence();
    await this.recoveryEnds;
    for (const { shard, epoch } of claims) this.recovered.add(`${shard}@${epoch}`);
  }

  openShard({ shard, epoch }: ShardClaim): void {
    this.steps.push(`open ${shard}@${epoch}`);
    this.open.set(shard, epoch);
  }

  async closeShard(shard: number, whenLast: () => Promise<void>): Promise<void> {
    this.steps.push(`close ${shard}`);
    this.open.delete(shard);
    if (this.isCloseBroken) throw new Error('a bug');
    await this.closeEnds(shard);
    await whenLast();
    this.closedLast.push(shard);
  }

  releasing(shard: number): void {
    this.steps.push(`releasing ${shard}`);
  }

  decided({ shard, epoch }: ShardClaim): void {
    for (let e = epoch; e > 0; e -= 1) this.recovered.delete(`${shard}@${e}`);
  }
}

/** Replaces one change of a shard's owner in the store. `apply` would make the change. */
type Twist = (apply: () => ReturnType<ShardStore['change']>) => ReturnType<ShardStore['change']>;

/**
 * The controller of `me`, at first without other nodes. Added nodes send heartbeats and have
 * journals.
 */
export class ControllerScene {
  #isLeaving = false;
  readonly world = new ClusterWorld();
  readonly host = new NotingHost();
  readonly twists = new Map<number, Twist[]>();
  readonly changes: ShardChange[] = [];
  readonly net = { isConnected: true, isTableDown: false };
  readonly loads = { count: 0 };
  readonly fences: string[] = [];
  readonly moves: MoveReason[] = [];
  readonly talking = new Set<string>();
  readonly members: Membership = this.world.members('me', () => this.#isLeaving);
  readonly detector: FailureWatch = this.#watch();
  readonly #stored = memoryShardStore();
  readonly controller: ShardController = this.#control();

  /** Passes time in which the other nodes have the same view as `me`, and their journals grow. */
  async live(durationMs: number): Promise<void> {
    for (let leftMs = durationMs; leftMs > 0; leftMs -= 500) {
      for (const node of this.talking) {
        this.world.say(node, { viewHash: this.members.viewHash });
        await this.world.append(node);
      }
      await pass(this.world.clock, Math.min(leftMs, 500));
    }
  }

  /** Passes the start-up grace period. */
  async listen(): Promise<void> {
    await this.live(STARTUP_GRACE_MS);
  }

  async join(node: string): Promise<void> {
    await this.world.begin(node);
    this.talking.add(node);
    this.world.say(node);
  }

  /** Joins a node that owns every shard at epoch 1. */
  async joinAsOwner(node: string): Promise<void> {
    await this.join(node);
    await this.putAll(() => `${node}-1`);
  }

  kill(node: string): void {
    this.talking.delete(node);
    this.world.end(`${node}:1`);
  }

  /** Ends a node's process. The next process at its address has not joined yet. */
  restart(node: string): void {
    this.talking.delete(node);
    this.world.end(`${node}:1`, { kind: 'answered', incarnation: NO_INCARNATION });
  }

  /** Writes a row as another node would write it. */
  async put(shard: number, owner: string): Promise<ShardRow | undefined> {
    const from = await this.#stored.read('engine', shard);
    return (await this.#stored.change({ service: 'engine', shard, from, owner })).row;
  }

  /** Writes every row, each with the owner that `ownerOf` returns. */
  async putAll(ownerOf: (shard: number) => string): Promise<void> {
    for (const shard of ALL) await this.put(shard, ownerOf(shard));
  }

  /** The shards that are open. */
  openNow(): number[] {
    return [...this.host.open.keys()].sort((a, b) => a - b);
  }

  /** Owner and epoch of each shard. */
  async rowsNow(): Promise<Map<number, string>> {
    const rows = await this.#stored.load('engine', SHARDS);
    return new Map(rows.map(({ shard, owner, epoch }) => [shard, `${owner}@${epoch}`]));
  }

  async leave(): Promise<void> {
    this.#isLeaving = true;
    await this.controller.leave();
  }

  #watch(): FailureWatch {
    const { world, members } = this;
    const names = { incarnation: 'me-1', node: 'me', address: 'me:1', isDirect: true };
    const onBug = (error: unknown) => world.bugs.push(error);
    return new FailureWatch(
      { service: 'engine', prefix: 'test', ...names },
      { ...world, members, takeSlowestAppendMs: () => 0, onSealed: () => undefined, onBug },
    );
  }

  #control(): ShardController {
    const { world, members, detector, host } = this;
    const names = { service: 'engine', incarnation: 'me-1', node: 'me' } as const;
    return new ShardController(
      { ...names, shardCount: SHARDS, startupGraceMs: STARTUP_GRACE_MS },
      {
        ...world,
        shards: this.#table(),
        members,
        detector,
        host,
        fence: (why) => {
          this.fences.push(why);
          host.open.clear();
          this.controller[Symbol.dispose]();
        },
        isConnected: () => this.net.isConnected,
        onMoved: (reason) => this.moves.push(reason),
        onTakenOver: () => undefined,
        onBug: (error) => world.bugs.push(error),
      },
    );
  }

  #table(): ShardStore {
    const stored = this.#stored;
    return {
      ...stored,
      load: async (...of) => {
        this.loads.count += 1;
        if (this.net.isTableDown) silence();
        return await stored.load(...of);
      },
      change: async (change) => {
        this.changes.push(change);
        const twist = this.twists.get(change.shard)?.shift() ?? ((apply) => apply());
        return await twist(() => stored.change(change));
      },
    };
  }
}

/** A scene in which `me` has a journal and nothing else has happened. */
export async function newScene(): Promise<ControllerScene> {
  const scene = new ControllerScene();
  await scene.world.begin('me');
  return scene;
}

/** A scene in which `a` has owned all shards at epoch 1 for so long that `me` may claim. */
export async function newSceneOfOwner(): Promise<ControllerScene> {
  const scene = await newScene();
  await scene.joinAsOwner('a');
  await scene.live(STARTUP_GRACE_MS + 1_000);
  return scene;
}
