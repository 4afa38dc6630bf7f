import { parseApiKey } from '#accounts/api-key';
import type { ClusterPlan } from '#deploy/local/cluster-plan';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { ctlVariables, environmentOf, MAIN } from '#deploy/local/processes/service-process';

/** Maximum time to create a link, in ms: a connection to Cassandra, and some writes. */
const LINK_MS_MAX = 60_000;

/**
 * Address for a browser: a new set-up link if the key's account has no owner, else the console. If
 * the link cannot be created, the text contains the reason.
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
