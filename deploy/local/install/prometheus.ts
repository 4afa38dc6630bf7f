import { join } from 'node:path';
import { debianInstall } from '#deploy/local/install/debian';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import type { Print } from '#deploy/local/progress';

/** Paths of Prometheus's programs. */
export type Prometheus = {
  readonly prometheus: string;
  readonly promtool: string;
  /** Arguments for `prometheus` to find its web pages. */
  readonly args: readonly string[];
};

/**
 * Finds Prometheus and promtool: both on `PATH`, or in Debian's package, unpacked into the cache.
 * Throws `MissingServer`.
 */
export async function installedPrometheus(print: Print): Promise<Prometheus> {
  const [prometheus, promtool] = [programPath('prometheus'), programPath('promtool')];
  if (prometheus !== undefined && promtool !== undefined) {
    return { prometheus, promtool, args: [] };
  }
  const folder = await debianInstall('prometheus', print).catch((error: unknown) => {
    if (!(error instanceof MissingServer)) throw error;
    const help = 'put prometheus and promtool 2.42 or newer on PATH';
    throw new MissingServer(`Prometheus is missing (${error.message}): ${help}`);
  });
  const bin = join(folder, 'usr/bin');
  // Debian's package keeps the web pages beside the program.
  const args = [`--web.local-assets=${join(folder, 'usr/share/prometheus/web')}/`];
  return { prometheus: join(bin, 'prometheus'), promtool: join(bin, 'promtool'), args };
}
