import type { Options } from '#bench/options';
import type { Server } from '#bench/servers';

/** What is measured in rounds, how long, and who hears how far it is. */
export type Rounds = {
  readonly servers: readonly Server[];
  readonly options: Options;
  readonly print: (line: string) => void;
};

/** The servers in the order of a round: each begins one in turn. */
export function orderOf(servers: readonly Server[], round: number): Server[] {
  const first = round % servers.length;
  return [...servers.slice(first), ...servers.slice(0, first)];
}
