import type { Options } from '#bench/options';
import type { Server } from '#bench/processes/servers';

/** Servers and durations of the rounds, and a printer for progress lines. */
export type Rounds = {
  readonly servers: readonly Server[];
  readonly options: Options;
  readonly print: (line: string) => void;
};

/** Order of the servers in a round. The order rotates, so that each server comes first in turn. */
export function orderOf(servers: readonly Server[], round: number): Server[] {
  const first = round % servers.length;
  return [...servers.slice(first), ...servers.slice(0, first)];
}
