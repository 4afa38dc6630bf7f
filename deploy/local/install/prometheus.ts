import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** Maximum download time in milliseconds, for 20 MB from a mirror. */
const FETCH_MS_MAX = 300_000;

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

/**
 * Downloads a Debian package with apt, without root, and unpacks the package into the cache.
 * Returns the folder. Throws `MissingServer` if apt or the package is missing.
 */
function debianInstall(name: string, print: Print): Promise<string> {
  return installOnce(`${name}-debian`, async (target) => {
    const [apt, dpkg] = [programPath('apt-get'), programPath('dpkg')];
    if (apt === undefined || dpkg === undefined) throw new MissingServer('apt-get is not on PATH');
    const args = ['download', name];
    const fetch = () => runProgram({ program: apt, args, folder: target, msMax: FETCH_MS_MAX });
    const fetched = await withProgress(print, `fetching the Debian package ${name}`, fetch);
    const file = readdirSync(target).find((entry) => entry.endsWith('.deb'));
    if (!fetched.isOk || file === undefined) {
      throw new MissingServer(`apt-get: ${lastLine(fetched.output)}`);
    }
    const unpack = { program: dpkg, args: ['-x', join(target, file), target], msMax: FETCH_MS_MAX };
    const { isOk, output } = await runProgram(unpack);
    if (!isOk) throw new MissingServer(`dpkg: ${lastLine(output)}`);
    await rm(join(target, file));
  });
}
