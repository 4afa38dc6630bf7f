/** CPU profile in the format of V8's inspector: a call tree, and the leaf of each sample. */
export type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  /** Time since the previous sample, in microseconds. */
  readonly timeDeltas: readonly number[];
};

/** Time of one function over a whole profile in µs: self time, and total time with callees. */
export type FunctionTime = {
  readonly name: string;
  /**
   * Source position such as `services/actor-system/actor-runtime/commit-log.ts:84`; empty if not
   * JavaScript.
   */
  readonly place: string;
  readonly selfMicros: number;
  readonly totalMicros: number;
};

type Node = CpuProfile['nodes'][number];

/** Times of every sampled function. The total time contains the time of recursive calls once. */
export function functionTimes(profile: CpuProfile): FunctionTime[] {
  const selfOf = new Map<number, number>();
  for (const [i, id] of profile.samples.entries()) {
    selfOf.set(id, (selfOf.get(id) ?? 0) + (profile.timeDeltas[i] ?? 0));
  }
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const times = new Map<string, { self: number; total: number; node: Node }>();
  const visit = (node: Node, above: ReadonlySet<string>): number => {
    const key = `${node.callFrame.functionName} ${placeOf(node)}`;
    const time = times.get(key) ?? { self: 0, total: 0, node };
    times.set(key, time);
    const within = new Set(above).add(key);
    const self = selfOf.get(node.id) ?? 0;
    let total = self;
    for (const id of node.children ?? []) {
      const child = nodes.get(id);
      if (child !== undefined) total += visit(child, within);
    }
    time.self += self;
    if (!above.has(key)) time.total += total;
    return total;
  };
  const [root] = profile.nodes;
  if (root !== undefined) visit(root, new Set());
  return [...times.values()].map(({ self, total, node }) => ({
    name: node.callFrame.functionName || '(anonymous)',
    place: placeOf(node),
    selfMicros: self,
    totalMicros: total,
  }));
}

/** File and line, relative to the repository or to the package folder. */
function placeOf({ callFrame: { url, lineNumber } }: Node): string {
  if (url === '') return '';
  const file = url
    .replace(/^.*\/node_modules\//, '')
    .replace(new RegExp(`^file://${process.cwd()}/`), '');
  return `${file}:${lineNumber + 1}`;
}
