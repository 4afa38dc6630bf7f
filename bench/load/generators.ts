import { comparisonsOf } from '#bench/durable/comparisons';
import { captureAnswer } from '#bench/load/capture-answer';
import { type Round, runClosedRounds } from '#bench/load/closed-rounds';
import { type OpenRow, runOpenRounds } from '#bench/load/open-rounds';
import { checkLedger } from '#bench/measures/ledger';
import type { Options } from '#bench/options';
import { prepareService, type Server, startReference } from '#bench/processes/servers';
import { startStandalone, startThreeProcesses } from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';

/** Programs that generate load. `k6` is set only if the open model is selected. */
export type Tools = { readonly wrk: string; readonly k6: string | undefined };

/** Results of all load runs. */
export type Load = {
  readonly answerBytes: number | undefined;
  readonly rounds: readonly Round[];
  readonly open: readonly OpenRow[];
};

/** Starts the selected servers, loads them in turns, and checks their cycle counts at the end. */
export async function measureLoad(
  tools: Tools,
  options: Options,
  print: (line: string) => void,
): Promise<Load> {
  const { parts } = options;
  // The durable comparison measures (c) itself. If a durable comparison measures (c), measure (c) here only beside other servers.
  const isComparing = (['a', 's', 'p'] as const).some((label) => parts.has(label));
  const isWithDurable = comparisonsOf(options).some(({ isWithStateless }) => isWithStateless);
  if (!isComparing && (!parts.has('c') || isWithDurable)) {
    return { answerBytes: undefined, rounds: [], open: [] };
  }
  await using opened = new AsyncDisposableStack();
  const folder = temporaryFolder();
  print('starting the servers');
  // The standalone service is always needed: the references send its answer.
  const standalone = await prepareService('s', opened.use(await startStandalone()), folder);
  const answer = await captureAnswer(standalone, folder);
  const files = { folder, answerFile: answer.file };
  const servers: Server[] = [];
  if (parts.has('a')) servers.push(opened.use(await startReference('a', files)));
  if (parts.has('c')) servers.push(opened.use(await startReference('c', files)));
  if (parts.has('s')) servers.push(standalone);
  if (parts.has('p')) {
    const service = opened.use(await startThreeProcesses());
    servers.push(await prepareService('p', service, folder));
  }
  const rounds = await runClosedRounds(tools.wrk, { servers, options, print });
  const { k6 } = tools;
  const compared = servers.filter(({ label }) => label !== 'a');
  const open =
    k6 === undefined ? [] : await runOpenRounds(k6, { servers: compared, options, print });
  for (const server of servers) await checkLedger(server);
  return { answerBytes: answer.bytes, rounds, open };
}
