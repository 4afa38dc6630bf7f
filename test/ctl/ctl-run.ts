import type { ClusterPorts } from '#ctl/command';
import { runCtl } from '#ctl/ctl';

/** What a command looks at; a test names what its command needs. */
export type CtlTarget = {
  readonly adminUrl?: string;
  readonly adminTokenFile?: string;
  readonly cluster?: ClusterPorts;
};

/** Runs `ctl` in this process, to its end. */
export async function ctl(argv: readonly string[], target: CtlTarget) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCtl(argv, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    adminUrl: target.adminUrl ?? 'http://127.0.0.1:1',
    adminTokenFile: target.adminTokenFile,
    async openCluster() {
      if (target.cluster === undefined) throw new Error('this test has no cluster');
      return { ...target.cluster, [Symbol.asyncDispose]: async () => undefined };
    },
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}
