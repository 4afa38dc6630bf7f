import { parseApiKey } from '#accounts/api-key';
import type { ClusterPlan } from '#deploy/local/cluster-plan';
import { lastLine, runProgram } from '#deploy/local/run-program';
import { ctlVariables, environmentOf, MAIN } from '#deploy/local/service-process';

/** Connecting to Cassandra on a busy machine, and some writes. Milliseconds. */
const LINK_MS_MAX = 60_000;

/**
 * What a person opens in a browser: a new set-up link of the key's account while that has no owner, else
 * the address of the consoles. A link that cannot be made is no reason to fail: the cluster serves.
 */
export async function consoleEntry(plan: ClusterPlan, key: string): Promise<string> {
  const accountId = parseApiKey(key)?.accountId ?? '';
  const { isOk, output } = await runProgram({
    program: process.execPath,
    args: [MAIN, 'ctl', 'users', 'setup-link', accountId],
    env: environmentOf(ctlVariables(plan)),
    msMax: LINK_MS_MAX,
  });
  const said = lastLine(output);
  if (isOk) return said;
  return / has an owner/.test(said)
    ? plan.consoleAddress
    : `${plan.consoleAddress}   (no set-up link: ${said})`;
}
