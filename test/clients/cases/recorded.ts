import { openExampleService } from '#deploy/apidoc/example-service';
import { accountEventCases } from '#test/clients/cases/account-events';
import { Accounts } from '#test/clients/cases/accounts';
import { accountCases, instanceCases, pageCases } from '#test/clients/cases/endpoints';
import { engineCases } from '#test/clients/cases/engine';
import { eventCases } from '#test/clients/cases/events';
import { everyCallCases } from '#test/clients/cases/every-call';
import { brokenHttpCases, failingPartCases, oddRequestCases } from '#test/clients/cases/odd';
import { callerCases, requestCases } from '#test/clients/cases/refusals';
import { repeatableCases } from '#test/clients/cases/repeatable';
import { retryCases } from '#test/clients/cases/retries';
import { Tape } from '#test/clients/cases/tape';
import { toleranceCases } from '#test/clients/cases/tolerance';
import { unkeyedCases } from '#test/clients/cases/unkeyed';
import { webhookCases } from '#test/clients/cases/webhooks';
import type { WireCase } from '#test/clients/cases/wire-case';

/** Function that records a group of cases in a separate account. */
type Group = (tape: Tape, accounts: Accounts) => Promise<void>;

/** Groups of cases by file name. */
const GROUPS: Readonly<Record<string, Group>> = {
  instances: instanceCases,
  engine: engineCases,
  pages: pageCases,
  'refused-callers': callerCases,
  'refused-requests': async (tape) => {
    await requestCases(tape);
    await oddRequestCases(tape);
    await brokenHttpCases(tape);
  },
  'failing-parts': failingPartCases,
  retries: async (tape, accounts) => {
    const limited = await accounts.open({ requestsPerMinute: 1 });
    await tape.play({ method: 'personas.list' }, limited.full);
    await retryCases(tape, limited.full);
    await repeatableCases(tape);
    await unkeyedCases(tape);
  },
  tolerance: toleranceCases,
  events: eventCases,
  'account-events': accountEventCases,
  webhooks: webhookCases,
  'every-call': everyCallCases,
  account: async (tape, accounts) => accountCases(tape, await accounts.buyer()),
};

/** Records all cases, by file. Every run returns the same cases. */
export async function recordedCases(): Promise<Map<string, readonly WireCase[]>> {
  const files = new Map<string, readonly WireCase[]>();
  for (const [file, record] of Object.entries(GROUPS)) {
    await using service = await openExampleService();
    await using edge = await service.listen();
    const accounts = new Accounts(service);
    const tape = new Tape(service, edge.address, (await accounts.open()).full);
    await record(tape, accounts);
    files.set(file, tape.cases);
  }
  return files;
}
