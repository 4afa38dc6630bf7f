/* Separate so that the test of the search does not depend on the source tree. */

/** Import graph: the imported files of each file. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/**
 * Import cycles: sorted groups of files that import each other, directly or indirectly.
 */
export function cyclesIn(graph: ImportGraph): string[][] {
  const reachable = new Map([...graph.keys()].map((file) => [file, reachableFrom(graph, file)]));
  const isOnCycle = (file: string) => reachable.get(file)?.has(file) === true;
  const groups = new Map<string, string[]>();
  for (const file of [...graph.keys()].filter(isOnCycle).sort()) {
    const group = [...(reachable.get(file) ?? [])].filter(
      (other) => reachable.get(other)?.has(file) === true,
    );
    groups.set(group.sort().join(' '), group);
  }
  return [...groups.values()];
}

/** Files that `start` imports, directly or indirectly. */
function reachableFrom(graph: ImportGraph, start: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const ahead = [...(graph.get(start) ?? [])];
  for (let file = ahead.pop(); file !== undefined; file = ahead.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    ahead.push(...(graph.get(file) ?? []));
  }
  return seen;
}
