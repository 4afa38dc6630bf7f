import type { ClusterPorts, FilePorts, StorePlaces } from '#ctl/command';
import { runCtl } from '#ctl/ctl';
import { type Clock, systemClock } from '#stdlib/clock';

/** Ports of a command. A test passes only the ports that its command needs. */
export type CtlTarget = {
  readonly adminUrl?: string;
  readonly adminTokenFile?: string;
  readonly cluster?: ClusterPorts;
  readonly file?: FilePorts;
  readonly places?: StorePlaces;
  /** Input at the prompt. Undefined: no terminal. */
  readonly typed?: string;
  /** Clock of the deadline. Undefined: the system clock. */
  readonly clock?: Clock;
};

/** Runs `ctl` in this process until it exits. */
export async function ctl(argv: readonly string[], target: CtlTarget) {
  const out: string[] = [];
  const err: string[] = [];
  const written: string[] = [];
  const { typed } = target;
  const code = await runCtl(argv, {
    clock: target.clock ?? systemClock,
    ask: typed === undefined ? undefined : async () => typed,
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    write: async (text) => void written.push(text),
    adminUrl: target.adminUrl ?? 'http://127.0.0.1:1',
    adminTokenFile: target.adminTokenFile,
    async openCluster() {
      if (target.cluster === undefined) throw new Error('this test has no cluster');
      return { ...target.cluster, [Symbol.asyncDispose]: async () => undefined };
    },
    async openFile() {
      if (target.file === undefined) throw new Error('this test has no file');
      return { ...target.file, [Symbol.dispose]: () => undefined };
    },
    async openPlaces() {
      if (target.places === undefined) throw new Error('this test names no stores');
      return target.places;
    },
  });
  return { code, out: out.join('\n'), err: err.join('\n'), written: written.join('') };
}
