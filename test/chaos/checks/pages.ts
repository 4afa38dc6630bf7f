import type { NewAccount } from '#deploy/local/new-account';
import type { Findings } from '#test/chaos/checks/findings';
import type { EdgeCaller } from '#test/chaos/load/edge-caller';

/* This file is separate from the checks of the stores, because its check reads through the API. */

/** Items per page: the maximum of the API. */
const PAGE_ITEMS = 100;

/**
 * Checks that the pages of a listing contain as many different items as the answered `total`. No
 * call may change the listing during the check.
 */
export async function checkPages(
  caller: EdgeCaller,
  { accountId, apiKey }: NewAccount,
  path: string,
  findings: Findings,
): Promise<void> {
  const listed = new Set<string>();
  let count = 0;
  for (let total = 1; count < total; ) {
    const query = `${path.includes('?') ? '&' : '?'}limit=${PAGE_ITEMS}&offset=${count}`;
    const answered = await caller.send({ method: 'GET', path: path + query, apiKey });
    if (answered.kind !== 'answer' || answered.status !== 200) {
      const why = answered.kind === 'answer' ? answered.body : answered.kind;
      findings.add(`${accountId}: reading ${path} failed: ${why}`);
      return;
    }
    const { data, pagination } = JSON.parse(answered.body);
    for (const item of data) listed.add(JSON.stringify(item));
    count += data.length;
    ({ total } = pagination);
    if (data.length > 0 || count >= total) continue;
    findings.add(`${accountId}: ${path} has a total of ${total}, but lists ${count} items`);
    return;
  }
  if (listed.size !== count) findings.add(`${accountId}: ${path} lists an item twice`);
}
